-- revoke: asks the holder to stop. Its next renewal is told, and a push says
-- that it should renew now.
-- KEYS L R
-- ARGV id, shard suffix, reason
redis.call('TIME')
local L, R = KEYS[1], KEYS[2]
local id, suffix, reason = ARGV[1], ARGV[2], ARGV[3]
local holder = redis.call('GET', L)
if holder ~= id then
  return {'not held', holder or '', 0}
end
-- include part/notify.lua
-- A holder that is not renewed may ask later than a ttl from now.
local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
local life = string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', L)))
redis.call('PEXPIRE', R, life) -- first: full memory never refuses it, and then nothing that follows
redis.call('SET', R, 'revoked ' .. id .. '|' .. reason, 'PX', life)
return {'told', publish(id, 'revoked '), refused}
