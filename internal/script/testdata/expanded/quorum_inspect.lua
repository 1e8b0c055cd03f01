-- quorum_inspect, SHA 26f904658bc82c7963beac0073b501d2f02e2297, of the text behind the empty line

-- quorum_inspect: reads what a server says about its part in a quorum. Writes nothing.
-- KEYS marker
-- ARGV -
-- answers node (time, run, uptime in s, 1 if it has an AOF, quorum-id, run when it was marked, when it
--   begins to vote in us)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
-- quorum_run_id: finds the server and its run. A server that does not show its run_id looks like any
-- other, so it can't be a node.
-- gives: run
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
if not run then
  return redis.error_reply('HOLDFAST this server does not tell its run_id (INFO server), so it can not be a node of a quorum')
end
local run_before, till, mark = string.match(redis.call('GETRANGE', KEYS[1], '0', '1023'), '^(%x+):(%d+):(.+)$')
local persistence = redis.pcall('INFO', 'persistence')
local aof = type(persistence) == 'string' and string.match(persistence, 'aof_enabled:(%d)') or '0'
return {'node', us, run, string.match(info, 'uptime_in_seconds:(%d+)') or '0', aof,
  mark or '', run_before or '', till or '0'}
