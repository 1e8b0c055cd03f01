-- shared_exported, SHA 1cf9da2bada35e2d9cf7d494d533595ee23ad77e, of the text behind the empty line

-- shared_exported: reports whether an exported id still holds its part, and may prolong its time.
-- KEYS lock fence queue holders, revocation key of id
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
  left = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.'))
  redis.call('PEXPIRE', lock, math.max(left, redis.call('PTTL', lock))) -- first: full memory never refuses this, nor then what follows
  redis.call('PEXPIRE', holders, math.max(left, redis.call('PTTL', holders)))
  redis.call('ZADD', holders, string.format('%.0f', us + 1000 * left + above), id)
  size, top = 0, newest_token
-- reserve_tokens: makes top the last reserved token; without a size it only prolongs the fence key.
-- Straight code.
-- needs: fence, token_now, size, top   gives: last, which is top as text, and fence_ttl
local last = '0'
-- fence_ttl: finds how long the fence key lives: a day and a second, and longer by as much as it is
-- ahead of the clock. Straight code.
-- needs: token_now, top   gives: fence_ttl, in ms as text
local fence_ttl = '90001000'
if top > token_now + 2000000 then fence_ttl = string.format('%.0f', 90000000 + math.ceil((top - token_now) / 2000)) end
if size > 0 then
  last = string.format('%.0f', top)
  redis.call('SET', fence, last, 'PX', fence_ttl)
else
  redis.call('PEXPIRE', fence, fence_ttl)
end
end
return {'stands', left, waiting, us}
