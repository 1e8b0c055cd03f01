-- drop: unlock of L alone, for when the keys of a name can't be reached
-- together. It moves no line: unlock has to follow, whatever L was.
-- KEYS L
-- ARGV id, then, where L must rest: what is left in ms, owner
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, id = KEYS[1], ARGV[1]

-- include part/read_holder.lua
if holder == id then
  if ARGV[2] then
    redis.call('PEXPIRE', L, ARGV[2]) -- first: full memory never refuses it
    redis.call('SET', L, 'rest|' .. ARGV[3], 'PX', ARGV[2])
  else
    redis.call('DEL', L)
  end
end
return {'dropped', us}
