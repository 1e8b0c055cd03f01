-- shared_revoke: asks one holder to stop. Its next renewal is told, and a push says
-- that it should renew now.
-- KEYS L H, revocation key of id
-- ARGV id, shard suffix, reason
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, H, revocation = KEYS[1], KEYS[2], KEYS[3]
local id, suffix, reason = ARGV[1], ARGV[2], ARGV[3]
local Q -- part/shared_notify.lua names it
-- include part/shared_ids.lua
local is = redis.pcall('HMGET', L, 'kind')
if is.err and not string.find(is.err, 'WRONGTYPE', 1, true) then return is end
if is.err or over_of(redis.call('ZSCORE', H, id)) <= us then
  return {'not held', is.err and redis.call('GET', L) or '', us}
end
-- include part/shared_notify.lua
local ttl = ttl_of(id)
redis.call('PEXPIRE', revocation, ttl) -- first: full memory never refuses it, and then nothing that follows
redis.call('SET', revocation, 'revoked|' .. reason, 'PX', ttl)
return {'told', publish(id, 'revoked '), refused}
