-- drop: unlock of L alone, for when the keys of a name can't be reached
-- together. It moves no line: unlock has to follow, whatever L was.
-- KEYS L
-- ARGV id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return {'dropped', us}
