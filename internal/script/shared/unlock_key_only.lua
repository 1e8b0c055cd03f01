-- shared_unlock_key_only: shared_unlock of the holders key alone, for when the keys of a name can't be
-- reached together. It hands nothing over: shared_unlock has to follow.
-- KEYS holders
-- ARGV id
-- answers dropped (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
redis.call('ZREM', KEYS[1], ARGV[1], 'weight|' .. ARGV[1])
return {'dropped', us}
