-- quorum_mark, SHA 0a6997390cec4869201c5f76d5f521eb50cde847, of the text behind the empty line

-- quorum_mark: makes a server a node of a quorum, or of none any more. Only quorum init and quorum
-- replace send it.
-- KEYS marker
-- ARGV quorum-id, ms without votes, then the quorum-ids that it may have now
-- answers marked (quorum-id, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local marker, quorum = KEYS[1], ARGV[1]
-- quorum_run_id: finds the server and its run. A server that does not show its run_id looks like any
-- other, so it can't be a node.
-- gives: run
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
if not run then
  return redis.error_reply('HOLDFAST this server does not tell its run_id (INFO server), so it can not be a node of a quorum')
end

local present = redis.call('GETRANGE', marker, '0', '1023')
local mark = present ~= '' and (string.match(present, '^%x+:%d+:(.+)$') or '?') or ''
if mark == quorum then return {'marked', mark, us, run} end
for i = 3, #ARGV do
  if ARGV[i] == mark then
    redis.call('SET', marker, string.format('%s:%.0f:%s', run, us + ARGV[2] * 1000, quorum))
    return {'marked', quorum, us, run}
  end
end
return {'no member', mark, us, run}
