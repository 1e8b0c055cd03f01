-- quorum_renew: prolongs a tenure on one node. It never creates the lock key.
-- KEYS lock fence marker
-- ARGV id, the tenure's token, quorum-id
-- answers renewed (time, run), lost (holder, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, marker = KEYS[1], KEYS[2], KEYS[3]
local id, token, quorum = ARGV[1], tonumber(ARGV[2]), ARGV[3]
-- include part/quorum_check_member.lua

-- include part/read_holder.lua
-- include part/quorum_read_fence.lua

if not holder or string.match(holder, '^(.*):%d+$') ~= id then
  if restarted then redis.call('SET', marker, marked) end
  return {'lost', holder or '', us, run}
end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
local top = math.max(newest_token, token + {{token_block}} - 1)
redis.call('PEXPIRE', lock, ttl) -- first: full memory never refuses this, nor then what follows
redis.call('SET', fence, string.format('%.0f', top), 'PX',
  string.format('%.0f', {{day_ms}} + math.max(0, math.ceil((top - token_now) / {{tokens_per_ms}}))))
if restarted then redis.call('SET', marker, marked) end
return {'renewed', us, run}
