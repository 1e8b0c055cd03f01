-- keep: renew of L alone, for when the keys of a name can't be reached
-- together. It reserves no tokens and does not see who waits.
-- KEYS L
-- ARGV id, then, where L must live longer than the ttl: least life in ms
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L = KEYS[1]

-- include part/read_holder.lua
if holder ~= ARGV[1] then
  return {'lost', holder or '', us}
end
local ttl = string.match(ARGV[1], '^[%w_-]+%.[%w_-]+%.(%d+)|')
if ARGV[2] then -- never less than it has
  ttl = string.format('%.0f', math.max(tonumber(ttl), tonumber(ARGV[2]), redis.call('PTTL', L)))
end
redis.call('PEXPIRE', L, ttl)
return {'kept', us}
