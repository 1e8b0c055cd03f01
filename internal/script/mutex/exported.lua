-- exported: tells whether an exported id has the name, and may prolong it.
-- KEYS L F Q R
-- ARGV id, last token that its exporter knew of, then to prolong: renew
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, R = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

local order, reason
-- include part/read_holder.lua
-- include part/read_revocation.lua
if order == 'adopted' then return {'adopted', holder ~= id and holder or '', us} end -- L can be a ghost
if order then return {order, reason} end
if holder ~= id then return {'lost', holder or '', us} end
local now, fence, pushed, base, room
-- include part/read_fence.lua
if fence > tonumber(ARGV[2]) then return {'lost', '', us} end -- others had the name since: L is a ghost
local waiting = redis.call('ZCARD', Q)
if ARGV[3] then
  redis.call('PEXPIRE', L, string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
  local size, top = 0, fence
  -- include part/reserve_tokens.lua
end
return {'stands', redis.call('PTTL', L), waiting, us}
