-- quorum_held: whether a tenure has the name on one node, and for how long. Writes nothing.
-- KEYS L F M
-- ARGV id, quorum-id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, M = KEYS[1], KEYS[3]
local id, quorum = ARGV[1], ARGV[2]
-- include part/quorum_check_member.lua

-- include part/read_holder.lua
if not holder or string.match(holder, '^(.*):%d+$') ~= id then return {'lost', holder or '', us, run} end
return {'ours', redis.call('PTTL', L), run}
