-- unlock_key_only, SHA a28f888b66e87980079435eb9a4cb6f7e06f0ef9, of the text behind the empty line

-- unlock_key_only: unlock of the lock key alone, for when the keys of a name can't be reached together.
-- It hands nothing over: unlock has to follow in any case.
-- KEYS lock
-- ARGV id; then, if the name has to cool down: remaining ms, owner
-- answers dropped (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, id = KEYS[1], ARGV[1]

-- read_holder: reads the holder. A value that is no string is not ours: another kind of lock has the
-- name by now, or another program its key. Straight code.
-- needs: lock; in most scripts ARGV[1] is the id of the holder, and then holder is a string
-- gives: holder: the value of the lock key, or the first 1,024 bytes of a longer one; '' if it is no
--   string, false if there is none
local holder = redis.pcall('GETRANGE', lock, '0', '1023')
if holder ~= ARGV[1] and type(holder) == 'table' then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  holder = ''
elseif holder == '' and redis.call('EXISTS', lock) == 0 then
  holder = false
end
if holder == id then
  if ARGV[2] then
    redis.call('PEXPIRE', lock, ARGV[2]) -- first: full memory never refuses this
    redis.call('SET', lock, 'cooldown|' .. ARGV[3], 'PX', ARGV[2])
  else
    redis.call('DEL', lock)
  end
end
return {'dropped', us}
