-- take: takes the name from its holder for the id that asks, and leaves word for the one
-- who had it. Waiters keep their places.
-- KEYS L F Q R
-- ARGV id, stride, shard suffix, the holder's id, reason
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, R = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mine, asked, suffix, id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

-- include part/read_holder.lua
if holder ~= mine and holder ~= id then return {'not held', holder or '', us} end
local waiting = redis.call('ZCARD', Q)
local now, fence, pushed, base, room
-- include part/read_fence.lua
-- include part/notify.lua

local ttl = string.match(mine, '^[^.]+%.[^.]+%.(%d+)|')
local life = tonumber(ttl)
if holder == mine then life = math.max(life, redis.call('PTTL', L)) end -- a least life is not cut
redis.call('PEXPIRE', L, string.format('%.0f', life)) -- first: full memory never refuses it, and then nothing that follows
if holder ~= mine then
  redis.call('SET', L, mine, 'PX', ttl)
  redis.call('SET', R, 'stolen ' .. id .. '|' .. ARGV[5], 'PX', string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
end
local size = math.min(asked, room)
local top = base + size - 1
-- include part/reserve_tokens.lua
if holder == mine then
  redis.call('PEXPIRE', F, string.format('%.0f', life + redis.call('PTTL', L))) -- F outlives a least life
else
  -- include part/notify_front.lua
  near(16, tonumber(ttl)) -- the new ttl may be shorter than what they know of the old one
  publish(id, 'revoked ')
end
return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2] .. (refused ~= '' and ' ' .. refused or '')
