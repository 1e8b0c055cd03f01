-- shared_keep: shared_renew of H alone, for when the keys of a name can't be
-- reached together. L is not prolonged.
-- KEYS H
-- ARGV id, former ids
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local H, id = KEYS[1], ARGV[1]
local score = redis.call('ZSCORE', H, id)
for i = 2, #ARGV do
  if score then break end
  score, id = redis.call('ZSCORE', H, ARGV[i]), ARGV[i]
end
local LIGHT = 4503599627370496 -- see part/shared_ids.lua; whoever stands above it stays there
local above = score and tonumber(score) >= LIGHT and LIGHT or 0
if not score or score - above <= us then return {'lost', '', us} end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.'))
redis.call('PEXPIRE', H, math.max(ttl, redis.call('PTTL', H)))
redis.call('ZADD', H, string.format('%.0f', us + 1000 * ttl + above), id)
return {'kept', us}
