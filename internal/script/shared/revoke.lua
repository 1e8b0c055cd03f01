-- shared_revoke: asks one holder to stop. Its next renewal returns it, and a push asks it to renew now.
-- KEYS lock holders, revocation key of id
-- ARGV id, shard suffix, reason
-- answers notified (listeners, what the server said when it refused to publish), not held (holder, time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, holders, revocation = KEYS[1], KEYS[2], KEYS[3]
local id, suffix, reason = ARGV[1], ARGV[2], ARGV[3]
local queue -- part/notify_front.lua names it
-- include part/shared_ids.lua
local kind = redis.pcall('HSTRLEN', lock, 'kind')
local no_hash = type(kind) == 'table' and kind.err
if no_hash and not string.find(no_hash, 'WRONGTYPE', 1, true) then return kind end
if no_hash or expiry_of(redis.call('ZSCORE', holders, id)) <= us then
  return {'not held', no_hash and redis.call('GETRANGE', lock, '0', '{{text_end}}') or '', us}
end
-- include part/shared_notify.lua
local ttl = ttl_of(id)
redis.call('PEXPIRE', revocation, ttl) -- first: full memory never refuses this, nor then what follows
redis.call('SET', revocation, 'revoked|' .. reason, 'PX', ttl)
return {'notified', publish(id, 'revoked '), refused}
