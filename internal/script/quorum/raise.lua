-- quorum_raise: reserves the majority's tokens on a node that gave a lower one, if the lock key still
-- holds the vote that was counted.
-- KEYS lock fence
-- ARGV id, the token that this node gave, the majority's token
-- answers raised (time, run), lost (holder, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence = KEYS[1], KEYS[2]
local id, given, token = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- include part/quorum_run_id.lua

-- include part/read_holder.lua
if holder ~= id .. ':' .. given then
  return {'lost', holder or '', us, run}
end
-- include part/quorum_read_fence.lua

local top = token + {{token_block}} - 1
if newest_token < top then
  redis.call('SET', fence, string.format('%.0f', top), 'PX',
    string.format('%.0f', {{day_ms}} + math.max(0, math.ceil((top - token_now) / {{tokens_per_ms}}))))
end
return {'raised', us, run}
