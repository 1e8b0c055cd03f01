-- renew: prolongs a tenure and may reserve more tokens. Never makes L anew.
-- KEYS L F Q
-- ARGV id, stride or 0
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q = KEYS[1], KEYS[2], KEYS[3]
local id, asked = ARGV[1], tonumber(ARGV[2])

local holder = redis.call('GET', L)
if holder ~= id then
  return {'lost', holder or '', us}
end
local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
local waiting = redis.call('ZCARD', Q)
local now, fence, base, room
-- include fence.lua

redis.call('PEXPIRE', L, ttl)
local size, top = 0, fence
if asked > 0 then
  size = math.min(asked, room)
  top = base + size - 1
end
-- include reserve.lua
return string.format('renewed %s %d %d %s %s', last, size, waiting, t[1], t[2])
