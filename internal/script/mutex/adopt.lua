-- adopt: makes an id the holder in the place of one that was exported.
-- KEYS L F Q R
-- ARGV id, stride, exported id, last token that its exporter knew of
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, R = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mine, asked = ARGV[1], tonumber(ARGV[2])

-- include part/read_holder.lua
if holder ~= mine then
  local id, order, reason = ARGV[3], nil, nil
  -- include part/read_revocation.lua
  if order == 'adopted' then return {'lost', holder ~= id and holder or '', us} end -- L can be a ghost
  if order then return {order, reason} end
  if holder ~= id then return {'lost', holder or '', us} end
end
local waiting = redis.call('ZCARD', Q)
local now, fence, pushed, base, room
-- include part/read_fence.lua
if holder ~= mine and fence > tonumber(ARGV[4]) then return {'lost', '', us} end -- others had the name since: L is a ghost

local ttl = string.match(mine, '^[^.]+%.[^.]+%.(%d+)|')
local life = tonumber(ttl)
if holder == mine then life = math.max(life, redis.call('PTTL', L)) end -- a least life is not cut
redis.call('PEXPIRE', L, string.format('%.0f', life)) -- first: full memory never refuses it, and then nothing that follows
if holder ~= mine then
  redis.call('SET', L, mine, 'PX', ttl)
  redis.call('SET', R, 'adopted ' .. ARGV[3] .. '|', 'PX', '1800000')
end
local size = math.min(asked, room)
local top = base + size - 1
-- include part/reserve_tokens.lua
if holder == mine then redis.call('PEXPIRE', F, string.format('%.0f', life + redis.call('PTTL', L))) end -- F outlives a least life
return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
