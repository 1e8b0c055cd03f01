-- renew_key_only, SHA e75f7d3a25d0b499260c4199fee541bba131aafa, of the text behind the empty line

-- renew_key_only: renew of the lock key alone, for when the keys of a name can't be reached together.
-- It reserves no tokens and does not see the waiters.
-- KEYS lock
-- ARGV id; then, if the lock key must live longer than the ttl: for how many ms
-- answers kept (time), lost (holder, time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock = KEYS[1]

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
if holder ~= ARGV[1] then
  return {'lost', holder or '', us}
end
local ttl = string.match(ARGV[1], '^[%w_-]+%.[%w_-]+%.(%d+)|')
if ARGV[2] then -- never less than it has
  ttl = string.format('%.0f', math.max(tonumber(ttl), tonumber(ARGV[2]), redis.call('PTTL', lock)))
end
redis.call('PEXPIRE', lock, ttl)
return {'kept', us}
