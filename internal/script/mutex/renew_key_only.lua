-- renew_key_only: renew of the lock key alone, for when the keys of a name can't be reached together.
-- It reserves no tokens and does not see the waiters.
-- KEYS lock
-- ARGV id; then, if the lock key must live longer than the ttl: for how many ms
-- answers kept (time), lost (holder, time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock = KEYS[1]

-- include part/read_holder.lua
if holder ~= ARGV[1] then
  return {'lost', holder or '', us}
end
local ttl = string.match(ARGV[1], '^[%w_-]+%.[%w_-]+%.(%d+)|')
if ARGV[2] then -- never less than it has
  ttl = string.format('%.0f', math.max(tonumber(ttl), tonumber(ARGV[2]), redis.call('PTTL', lock)))
end
redis.call('PEXPIRE', lock, ttl)
return {'kept', us}
