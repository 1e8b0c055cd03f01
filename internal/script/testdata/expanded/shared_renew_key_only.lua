-- shared_renew_key_only, SHA 01fe6bbecd1338ee53b56c71f89f59cd96c6bc2c, of the text behind the empty line

-- shared_renew_key_only: shared_renew of the holders key alone, for when the keys of a name can't be
-- reached together. It does not prolong the lock key.
-- KEYS holders
-- ARGV id
-- answers kept (time), lost ('', time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local holders, id = KEYS[1], ARGV[1]
local score = redis.call('ZSCORE', holders, id)
local LIGHT = 4503599627370496 -- see part/shared_ids.lua; an id above it stays there
local above = score and tonumber(score) >= LIGHT and LIGHT or 0
if not score or score - above <= us then return {'lost', '', us} end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.'))
redis.call('PEXPIRE', holders, math.max(ttl, redis.call('PTTL', holders)))
redis.call('ZADD', holders, string.format('%.0f', us + 1000 * ttl + above), id)
return {'kept', us}
