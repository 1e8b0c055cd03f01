-- renew: prolongs a tenure and may reserve more tokens. It never creates the lock key.
-- KEYS lock queue revocation, with a token block fence too
-- ARGV id; then, unless the fence key may be left alone: token block or 0; then, if the lock key
--   must live longer than the ttl: for how many ms
-- answers renewed (one line: last token, size of the block, waiters, time), lost (holder, time),
--   revoked (reason), stolen (reason)
local lock, queue, revocation, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

-- include part/read_holder.lua
local waiting, ending, reason = 0, nil, nil
if holder ~= id or redis.call('EXISTS', queue, revocation) > 0 then -- most often one call shows that there are no waiters and no revocation
  -- include part/read_revocation.lua
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
-- include part/read_fence.lua
-- include part/token_memory.lua

local min_ttl = ARGV[3]
if min_ttl then -- never less than it has
  ttl = string.format('%.0f', math.max(tonumber(ttl), tonumber(min_ttl), redis.call('PTTL', lock)))
end
redis.call('PEXPIRE', lock, ttl)
size, top = math.min(tonumber(ARGV[2]), room), newest_token
if size > 0 then top = base + size - 1 end
-- include part/reserve_tokens.lua
if min_ttl then redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + min_ttl))) end
return 'renewed ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
