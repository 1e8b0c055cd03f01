-- quorum_held, SHA 97e3d9e0fb6b570876266e3aae6f88fed5f9e696, of the text behind the empty line

-- quorum_held: reports whether a tenure still has the name on one node, and for how long. Writes
-- nothing.
-- KEYS lock fence marker
-- ARGV id, quorum-id
-- answers ours (remaining ms, run), lost (holder, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, marker = KEYS[1], KEYS[3]
local id, quorum = ARGV[1], ARGV[2]
-- quorum_check_member: ends the script unless this server is a node of the quorum that is meant, and finds
-- whether it may have forgotten something. It writes nothing: where restarted is true, the script
-- that includes it writes marked.
-- needs: marker, us, quorum   gives: run, restarted, marked, till
-- quorum_run_id: finds the server and its run. A server that does not show its run_id looks like any
-- other, so it can't be a node.
-- gives: run
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
if not run then
  return redis.error_reply('HOLDFAST this server does not tell its run_id (INFO server), so it can not be a node of a quorum')
end
local run_before, till, mark = string.match(redis.call('GETRANGE', marker, '0', '1023'), '^(%x+):(%d+):(.+)$')
if mark ~= quorum then return {'no member', mark or '', us, run} end
till = tonumber(till)
local restarted = run_before ~= run or till > us + 60000000 -- no node refuses votes for longer: the clock was set back
if restarted then till = us + 60000000 end -- what it forgot has expired then
local marked = string.format('%s:%.0f:%s', run, till, quorum)

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
if not holder or string.match(holder, '^(.*):%d+$') ~= id then return {'lost', holder or '', us, run} end
return {'ours', redis.call('PTTL', lock), run}
