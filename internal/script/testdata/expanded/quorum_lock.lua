-- quorum_lock, SHA 6eec45ddb06c5b0d859d2c18107077c63404bf18, of the text behind the empty line

-- quorum_lock: asks one node for its vote for an id.
-- KEYS lock fence marker wanted
-- ARGV id, proposed token, quorum-id, ms within which a waiting caller asks again (0: it does not wait)
-- answers granted (token, size of the block, time, run), held (holder, remaining ms, 0, time, '', run),
--   no vote (ms, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, marker = KEYS[1], KEYS[2], KEYS[3]
local id, proposed, quorum = ARGV[1], tonumber(ARGV[2]), ARGV[3]
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

local holder = redis.call('GETRANGE', lock, '0', '1023')
if holder == '' and redis.call('EXISTS', lock) == 0 then holder = false end
if holder then
  local stored = holder
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
if ttl > 60000 then
  return redis.error_reply('HOLDFAST the ttl is longer than a restarted node gives no vote')
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

if restarted then redis.call('SET', marker, marked) end
if us < till then
  return {'no vote', math.ceil((till - us) / 1000), us, run}
end
if holder then
  local whose, token = string.match(holder, '^(.*):(%d+)$')
  if whose == id then return {'granted', token, 64, us, run} end
  local wanted, comes, me = KEYS[4], tonumber(ARGV[4]), string.match(id, '^[^.]*')
  if comes > 0 then
    local by = redis.pcall('GETRANGE', wanted, '0', '1023')
    local several = type(by) == 'string' and by ~= '' and by ~= me
    redis.pcall('SET', wanted, several and '*' or me, 'PX', math.max(comes, redis.call('PTTL', wanted))) -- full memory refuses it
  end
  return {'held', holder, redis.call('PTTL', lock), 0, us, '', run}
end
local base = math.max(newest_token + 1, math.min(math.max(proposed, token_now - 2000000), token_now + 2000000))
local token = string.format('%.0f', base)
local top = base + 64 - 1
redis.call('SET', lock, id .. ':' .. token, 'PX', ttl)
redis.call('SET', fence, string.format('%.0f', top), 'PX',
  string.format('%.0f', math.max(86400000, ttl) + math.max(0, math.ceil((top - token_now) / 2000))))
return {'granted', token, 64, us, run}
