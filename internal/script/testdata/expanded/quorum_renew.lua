-- quorum_renew, SHA a2b27128039e85d0aaec356468170a006818761f, of the text behind the empty line

-- quorum_renew: prolongs a tenure on one node. It never creates the lock key.
-- KEYS lock fence marker
-- ARGV id, the tenure's token, quorum-id
-- answers renewed (time, run), lost (holder, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, marker = KEYS[1], KEYS[2], KEYS[3]
local id, token, quorum = ARGV[1], tonumber(ARGV[2]), ARGV[3]
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
-- quorum_read_fence: reads the fence key of a node.
-- needs: lock, fence, us   gives: token_now, newest_token
local token_now = 2 * us
local newest_token = redis.call('GETRANGE', fence, '0', '1023')
if newest_token == '' then newest_token = '0' end
if not string.find(newest_token, '^%d+$') or tonumber(newest_token) >= 9007199254740992 - 1 then -- the last there is
  local stored = newest_token
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
  return redis.error_reply('HOLDFAST the fence key ' .. fence .. ' holds no token')
end
newest_token = tonumber(newest_token)

if not holder or string.match(holder, '^(.*):%d+$') ~= id then
  if restarted then redis.call('SET', marker, marked) end
  return {'lost', holder or '', us, run}
end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
local top = math.max(newest_token, token + 64 - 1)
redis.call('PEXPIRE', lock, ttl) -- first: full memory never refuses this, nor then what follows
redis.call('SET', fence, string.format('%.0f', top), 'PX',
  string.format('%.0f', 86400000 + math.max(0, math.ceil((top - token_now) / 2000))))
if restarted then redis.call('SET', marker, marked) end
return {'renewed', us, run}
