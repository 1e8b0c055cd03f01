-- renew: prolongs a tenure and may reserve more tokens. Never makes L anew.
-- KEYS L Q R, with a stride F too
-- ARGV id, then, unless F may be left alone: stride or 0, then, where L must live
--   longer than the ttl: least life in ms
local L, Q, R, F = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

-- include part/read_holder.lua
local waiting, order, reason = 0, nil, nil
if holder ~= id or redis.call('EXISTS', Q, R) > 0 then -- most often one look says that nobody waits, and that nothing was ordered
  -- include part/read_revocation.lua
  if order == 'stolen' then return {'stolen', reason} end
  if holder ~= id then return {'lost', holder or '', 0} end
  waiting = redis.call('ZCARD', Q)
end
local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
if order == 'revoked' then
  redis.call('PEXPIRE', L, string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', L)))) -- the last time: for work that is stopping
  return {'revoked', reason}
end
if not ARGV[2] then -- nearly all are like this, and cost half as much
  redis.call('PEXPIRE', L, ttl)
  return 'renewed 0 0 ' .. waiting .. ' 0 0'
end
local t = redis.call('TIME')
local us, asked = t[1] * 1000000 + t[2], tonumber(ARGV[2])
local now, fence, pushed, base, room
-- include part/read_fence.lua

local least = ARGV[3]
if least then -- never less than it has
  ttl = string.format('%.0f', math.max(tonumber(ttl), tonumber(least), redis.call('PTTL', L)))
end
redis.call('PEXPIRE', L, ttl)
local size, top = 0, fence
if asked > 0 then
  size = math.min(asked, room)
  top = base + size - 1
end
-- include part/reserve_tokens.lua
if least then redis.call('PEXPIRE', F, string.format('%.0f', life + least)) end
return 'renewed ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
