-- renew, SHA 834df3fb15588dacbe7c1a1f5b389f7ced619355, of the text behind the empty line

-- renew: prolongs a tenure and may reserve more tokens. It never creates the lock key.
-- KEYS lock queue revocation, with a token block fence too
-- ARGV id; then, unless the fence key may be left alone: token block or 0; then, if the lock key
--   must live longer than the ttl: for how many ms
-- answers renewed (one line: last token, size of the block, waiters, time), lost (holder, time),
--   revoked (reason), stolen (reason)
local lock, queue, revocation, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

-- read_holder: reads the holder. A value that is no string is not ours: another kind of lock has the
-- name by now, or another program its key. Straight code.
-- needs: lock; in most scripts ARGV[1] is the id of the holder, and then holder is a string
-- gives: holder: the value of the lock key, or the first 1,024 bytes of a longer one; '' if it is no
--   string, false if there is none
local holder = redis.pcall('GETRANGE', lock, '0', '1023')
if holder ~= ARGV[1] and type(holder) == 'table' then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  holder = ''
elseif holder == '' and redis.call('EXISTS', lock) == 0 then
  holder = false
end
local waiting, ending, reason = 0, nil, nil
if holder ~= id or redis.call('EXISTS', queue, revocation) > 0 then -- most often one call shows that there are no waiters and no revocation
-- read_revocation: reads what Revoke, Steal or an adoption noted about an id. Straight code.
-- needs: revocation, id, and these declared, which it sets
-- gives: ending ('revoked', 'stolen', 'adopted' or nil), reason
local mark = redis.call('GETRANGE', revocation, '0', '1023')
if mark ~= '' then
  local word, whose = string.match(mark, '^(%a+) (.*)$')
  if whose and string.sub(whose, 1, #id + 1) == id .. '|' then -- an id has one bar, and no other id begins with it
    ending, reason = word, string.sub(whose, #id + 2)
  end
end
  if ending == 'stolen' then return {'stolen', reason} end
  if holder ~= id then return {'lost', holder or '', 0} end
  waiting = redis.call('ZCARD', queue)
end
local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
if ending == 'revoked' then
  redis.call('PEXPIRE', lock, string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', lock)))) -- the last time: for work that is stopping
  return {'revoked', reason}
end
if not ARGV[2] then -- nearly all are like this, and cost half as much
  redis.call('PEXPIRE', lock, ttl)
  return 'renewed 0 0 ' .. waiting .. ' 0 0'
end
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
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
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end

local min_ttl = ARGV[3]
if min_ttl then -- never less than it has
  ttl = string.format('%.0f', math.max(tonumber(ttl), tonumber(min_ttl), redis.call('PTTL', lock)))
end
redis.call('PEXPIRE', lock, ttl)
size, top = math.min(tonumber(ARGV[2]), room), newest_token
if size > 0 then top = base + size - 1 end
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
if min_ttl then redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + min_ttl))) end
return 'renewed ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
