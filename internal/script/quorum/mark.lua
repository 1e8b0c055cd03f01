-- quorum_mark: makes a server a node of a quorum, or of none any more. Only quorum init and quorum
-- replace send it.
-- KEYS marker
-- ARGV quorum-id, ms without votes, then the quorum-ids that it may have now
-- answers marked (quorum-id, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local marker, quorum = KEYS[1], ARGV[1]
-- include part/quorum_run_id.lua

local present = redis.call('GETRANGE', marker, '0', '{{text_end}}')
local mark = present ~= '' and (string.match(present, '^%x+:%d+:(.+)$') or '?') or ''
if mark == quorum then return {'marked', mark, us, run} end
for i = 3, #ARGV do
  if ARGV[i] == mark then
    redis.call('SET', marker, string.format('%s:%.0f:%s', run, us + ARGV[2] * 1000, quorum))
    return {'marked', quorum, us, run}
  end
end
return {'no member', mark, us, run}
