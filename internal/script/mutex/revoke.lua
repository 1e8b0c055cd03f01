-- revoke: asks the holder to stop. Its next renewal returns it, and a push asks it to renew now.
-- KEYS lock revocation
-- ARGV id, shard suffix, reason
-- answers notified (listeners, what the server said when it refused to publish), not held (holder, time)
redis.call('TIME')
local lock, revocation = KEYS[1], KEYS[2]
local id, suffix, reason = ARGV[1], ARGV[2], ARGV[3]
local holder = redis.call('GETRANGE', lock, '0', '{{text_end}}')
if holder ~= id then
  return {'not held', holder, 0}
end
-- include part/notify.lua
-- A holder that is not renewed may ask later than a ttl from now.
local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
local revocation_ttl = string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', lock)))
redis.call('PEXPIRE', revocation, revocation_ttl) -- first: full memory never refuses this, nor then what follows
redis.call('SET', revocation, 'revoked ' .. id .. '|' .. reason, 'PX', revocation_ttl)
return {'notified', publish(id, 'revoked '), refused}
