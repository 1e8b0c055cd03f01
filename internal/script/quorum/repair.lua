-- quorum_repair: gives the lock that the majority has to a node that lacks it. It is sent only
-- after a majority just confirmed the tenure. A node that refuses votes takes it, too: that is no vote.
-- KEYS lock fence marker
-- ARGV id, the tenure's token, quorum-id
-- answers repaired (time, run), lost (holder, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, marker = KEYS[1], KEYS[2], KEYS[3]
local id, token, quorum = ARGV[1], tonumber(ARGV[2]), ARGV[3]
-- include part/quorum_check_member.lua

-- include part/read_holder.lua
-- include part/quorum_read_fence.lua

if holder then return {'lost', holder, us, run} end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
local top = math.max(newest_token, token + {{token_block}} - 1)
redis.call('SET', lock, string.format('%s:%.0f', id, token), 'PX', ttl)
redis.call('SET', fence, string.format('%.0f', top), 'PX',
  string.format('%.0f', {{day_ms}} + math.max(0, math.ceil((top - token_now) / {{tokens_per_ms}}))))
if restarted then redis.call('SET', marker, marked) end
return {'repaired', us, run}
