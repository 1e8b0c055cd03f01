-- unlock_key_only: unlock of the lock key alone, for when the keys of a name can't be reached together.
-- It hands nothing over: unlock has to follow in any case.
-- KEYS lock
-- ARGV id; then, if the name has to cool down: remaining ms, owner
-- answers dropped (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, id = KEYS[1], ARGV[1]

-- include part/read_holder.lua
if holder == id then
  if ARGV[2] then
    redis.call('PEXPIRE', lock, ARGV[2]) -- first: full memory never refuses this
    redis.call('SET', lock, 'cooldown|' .. ARGV[3], 'PX', ARGV[2])
  else
    redis.call('DEL', lock)
  end
end
return {'dropped', us}
