-- shared_keep: shared_renew of H alone, for when the keys of a name can't be
-- reached together. L is not prolonged.
-- KEYS H
-- ARGV id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local H, id = KEYS[1], ARGV[1]
local over = redis.call('ZSCORE', H, id)
if not over or tonumber(over) <= us then return {'lost', '', us} end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.'))
redis.call('PEXPIRE', H, math.max(ttl, redis.call('PTTL', H)))
redis.call('ZADD', H, string.format('%.0f', us + 1000 * ttl), id)
return {'kept', us}
