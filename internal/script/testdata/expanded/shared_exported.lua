-- shared_exported, SHA 450a930ddcac1cdfa2e38991919a736ef7278fdd, of the text behind the empty line

-- shared_exported: reports whether an exported id still holds its part, and may prolong its time.
-- KEYS lock fence queue holders, revocation key of id, of a semaphore also its size key
-- ARGV id; then, to prolong it: renew
-- answers stands (remaining ms, waiters, time), lost (holder, time), revoked (reason), stolen (reason)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

local LIGHT = 4503599627370496 -- see part/shared_ids.lua; an id above it stays there
local score = redis.call('ZSCORE', holders, id)
local above = score and tonumber(score) >= LIGHT and LIGHT or 0
local expires = score and score - above
local kind = redis.pcall('HSTRLEN', lock, 'kind')
local no_hash = type(kind) == 'table' and kind.err
local ending, reason = string.match(redis.call('GETRANGE', KEYS[5], '0', '1023'), '^(%a+)|(.*)$')
if no_hash and not string.find(no_hash, 'WRONGTYPE', 1, true) then return kind end
if ending == 'stolen' then return {'stolen', reason} end
if no_hash or not expires or expires <= us then return {'lost', no_hash and redis.call('GETRANGE', lock, '0', '1023') or '', us} end
if ending == 'revoked' then return {'revoked', reason} end -- not prolonged: the caller need not be the worker that stops
local left = math.floor((expires - us) / 1000)
local waiting = redis.call('ZCARD', queue)
if ARGV[2] then
  local token_now, newest_token, pushed, base, room, size, top
-- read_fence: reads the fence key and finds where the next token block would begin. Straight
-- code, no function: it stands on the uncontended path.
-- needs: lock, fence, us, and these declared, which it sets
-- gives: token_now, the clock in tokens; newest_token; pushed, the fence key's value if it ends with the
--   client that the newest grant was pushed to, else nil; base, the first token of a block; room, how
--   many it may have; size and top, the tokens in the block of a grant and the last of them
token_now = 2 * us
local mark = redis.call('GETRANGE', fence, '0', '1023')
if mark == '' then mark = '0' end
newest_token = tonumber(mark)
if not newest_token then
  pushed, newest_token = mark, tonumber(string.match(mark, '^(%d+) [%w_-]+$') or '')
end
if not newest_token or newest_token >= 9007199254740992 - 1 or not pushed and not string.find(mark, '^%d+$') then -- the last there is
  local stored = mark
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
  return redis.error_reply('HOLDFAST the fence key ' .. fence .. ' holds no token')
end
base = math.max(newest_token + 1, token_now)
room = math.max(1, token_now + 2000000 - base + 1) -- never more than 1 s ahead
size = math.min(64, room)
top = base + size - 1
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)%.')
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
  left = tonumber(ttl)
  redis.call('PEXPIRE', lock, math.max(left, redis.call('PTTL', lock))) -- first: full memory never refuses this, nor then what follows
  redis.call('PEXPIRE', holders, math.max(left, redis.call('PTTL', holders)))
  redis.call('ZADD', holders, string.format('%.0f', us + 1000 * left + above), id)
  size, top = 0, newest_token
-- reserve_tokens: makes top the last reserved token; without a size it only prolongs the fence key.
-- Straight code.
-- needs: fence, token_now, size, top, memory   gives: last, which is top as text, and what fence_ttl.lua gives
local last = '0'
-- fence_ttl: finds how long the fence key lives: a day and a second, and longer by as much as it is
-- ahead of the clock. A Client that remembers tokens for less than a day never shortens what another
-- has set. Straight code.
-- needs: fence, token_now, top, memory of token_memory.lua   gives: fence_ttl, in ms as text; known,
--   how long the key lives already, 0 if it does not matter; fence_px, the longer of both, as text
local fence_ttl, known = '90001000', 0
local fence_px = fence_ttl
if memory then
  known = redis.call('PTTL', fence)
  fence_ttl = string.format('%.0f', memory + math.max(1000, math.ceil((top - token_now) / 2000)))
  fence_px = string.format('%.0f', math.max(known, fence_ttl))
elseif top > token_now + 2000000 then
  fence_ttl = string.format('%.0f', 90000000 + math.ceil((top - token_now) / 2000))
  fence_px = fence_ttl
end
if size > 0 then
  last = string.format('%.0f', top)
  redis.call('SET', fence, last, 'PX', fence_px)
else
  redis.call('PEXPIRE', fence, fence_px)
end
-- shared_prolong_size: makes a size that shared_resize has not set live as long as the token, because the
-- holder's renewals prolong that. Straight code.
-- needs: fence_px; the size key is KEYS[6], or there is none
if KEYS[6] and redis.call('GETRANGE', KEYS[6], '0', '0') == '0' then redis.call('PEXPIRE', KEYS[6], fence_px) end
end
return {'stands', left, waiting, us}
