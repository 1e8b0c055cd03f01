-- drop: unlock of L alone, for when the keys of a name can't be reached
-- together. It moves no line: unlock has to follow.
-- KEYS L
-- ARGV id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then
  return {'not held', holder or '', us}
end
redis.call('DEL', KEYS[1])
return {'dropped', us}
