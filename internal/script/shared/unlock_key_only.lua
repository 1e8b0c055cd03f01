-- shared_drop: shared_unlock of H alone, for when the keys of a name can't be
-- reached together. It moves no line: shared_unlock has to follow.
-- KEYS H
-- ARGV id, former ids
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
redis.call('ZREM', KEYS[1], unpack(ARGV))
return {'dropped', us}
