-- keep: renew of L alone, for when the keys of a name can't be reached
-- together. It reserves no tokens and does not see who waits.
-- KEYS L
-- ARGV id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then
  return {'lost', holder or '', us}
end
redis.call('PEXPIRE', KEYS[1], string.match(ARGV[1], '^[%w_-]+%.[%w_-]+%.(%d+)|'))
return {'kept', us}
