-- quorum_unlock, SHA ce2fcf6641b034ea82383c54734cfff6639527aa, of the text behind the empty line

-- quorum_unlock: removes an id from one node. A client that will come back learns for how long
-- another client wants the name, and is noted behind that one.
-- KEYS lock wanted
-- ARGV id; then, if the client comes back: how many ms after its turn
-- answers released ('', run, ms for which another wants it), not held (holder, time, '', run, ms)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, id = KEYS[1], ARGV[1]
-- quorum_run_id: finds the server and its run. A server that does not show its run_id looks like any
-- other, so it can't be a node.
-- gives: run
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
if not run then
  return redis.error_reply('HOLDFAST this server does not tell its run_id (INFO server), so it can not be a node of a quorum')
end

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
local held = holder and string.match(holder, '^(.*):%d+$') == id
if held then redis.call('DEL', lock) end
local back, left = tonumber(ARGV[2]), -2
if back and not string.find(holder or '', '^v%d+|') then -- nothing is noted behind another version
  local wanted, me = KEYS[2], string.match(id, '^[^.]*')
  left = redis.call('PTTL', wanted)
  if left > 0 and redis.pcall('GETRANGE', wanted, '0', '1023') == me then
    left = -2
  elseif left > 0 then
    redis.pcall('SET', wanted, me, 'PX', math.min(left, 625) + back) -- full memory refuses it
  end
end
if held then return {'released', '', run, left} end
return {'not held', holder or '', us, '', run, left}
