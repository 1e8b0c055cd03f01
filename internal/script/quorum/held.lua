-- quorum_held: reports whether a tenure still has the name on one node, and for how long. Writes
-- nothing.
-- KEYS lock fence marker
-- ARGV id, quorum-id
-- answers ours (remaining ms, run), lost (holder, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, marker = KEYS[1], KEYS[3]
local id, quorum = ARGV[1], ARGV[2]
-- include part/quorum_check_member.lua

-- include part/read_holder.lua
if not holder or string.match(holder, '^(.*):%d+$') ~= id then return {'lost', holder or '', us, run} end
return {'ours', redis.call('PTTL', lock), run}
