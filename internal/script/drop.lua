-- drop: unlock of L alone, for when the keys of a name can't be reached
-- together. It moves no line: unlock has to follow, whatever L was.
-- KEYS L
-- ARGV id, then, where L must rest: what is left in ms, owner
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
if redis.call('GET', KEYS[1]) == ARGV[1] then
  if ARGV[2] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2]) -- first: full memory never refuses it
    redis.call('SET', KEYS[1], 'rest|' .. ARGV[3], 'PX', ARGV[2])
  else
    redis.call('DEL', KEYS[1])
  end
end
return {'dropped', us}
