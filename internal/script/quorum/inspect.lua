-- quorum_inspect: reads what a server says about its part in a quorum. Writes nothing.
-- KEYS marker
-- ARGV -
-- answers node (time, run, uptime in s, 1 if it has an AOF, quorum-id, run when it was marked, when it
--   begins to vote in us)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
-- include part/quorum_run_id.lua
local run_before, till, mark = string.match(redis.call('GETRANGE', KEYS[1], '0', '{{text_end}}'), '^(%x+):(%d+):(.+)$')
local persistence = redis.pcall('INFO', 'persistence')
local aof = type(persistence) == 'string' and string.match(persistence, 'aof_enabled:(%d)') or '0'
return {'node', us, run, string.match(info, 'uptime_in_seconds:(%d+)') or '0', aof,
  mark or '', run_before or '', till or '0'}
