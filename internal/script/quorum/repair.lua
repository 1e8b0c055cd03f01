-- quorum_repair: gives a node that lacks a tenure the lock that the majority
-- has. Sent only while that was just seen to be so. A node that sits out takes
-- it, too: it votes for nobody, it only joins those who hold.
-- KEYS L F M
-- ARGV id, the tenure's token, quorum-id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, M = KEYS[1], KEYS[2], KEYS[3]
local id, token, quorum = ARGV[1], tonumber(ARGV[2]), ARGV[3]
-- include part/quorum_check_member.lua

-- include part/read_holder.lua
-- include part/quorum_read_fence.lua

if holder then return {'lost', holder, us, run} end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
local top = math.max(fence, token + 63)
redis.call('SET', L, string.format('%s:%.0f', id, token), 'PX', ttl)
redis.call('SET', F, string.format('%.0f', top), 'PX',
  string.format('%.0f', 86400000 + math.max(0, math.ceil((top - now) / 2000))))
if restarted then redis.call('SET', M, marker) end
return {'repaired', us, run}
