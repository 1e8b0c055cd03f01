-- quorum_raise: reserves the majority's tokens on a node that gave a lower one.
-- Only where L is still the very vote that was counted.
-- KEYS L F
-- ARGV id, the token this node gave, the majority's token
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F = KEYS[1], KEYS[2]
local id, given, token = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- include part/quorum_run_id.lua

-- include part/read_holder.lua
if holder ~= id .. ':' .. given then
  return {'lost', holder or '', us, run}
end
-- include part/quorum_read_fence.lua

local top = token + 63
if fence < top then
  redis.call('SET', F, string.format('%.0f', top), 'PX',
    string.format('%.0f', 86400000 + math.max(0, math.ceil((top - now) / 2000))))
end
return {'raised', us, run}
