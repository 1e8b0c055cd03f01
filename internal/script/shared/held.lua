-- shared_held: reports whether a holder still has its part, and for how long. Writes nothing.
-- KEYS holders lock, revocation key of id; or holders alone
-- ARGV id, then, if its part was made smaller: former ids
-- answers ours (remaining ms), lost (holder, time), revoked (reason), stolen (reason)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local holders, lock = KEYS[1], KEYS[2]

local score = false
for i = 1, #ARGV do score = score or redis.call('ZSCORE', holders, ARGV[i]) end
local expires = tonumber(score or '0') % {{light_us}} -- see part/shared_ids.lua
local kind = lock and redis.pcall('HMGET', lock, 'kind') or {}
local ending, reason = string.match(KEYS[3] and redis.call('GET', KEYS[3]) or '', '^(%a+)|(.*)$')
if kind.err and not string.find(kind.err, 'WRONGTYPE', 1, true) then return kind end
if ending == 'stolen' then return {'stolen', reason} end
if kind.err or expires <= us then return {'lost', kind.err and redis.call('GET', lock) or '', us} end
if ending == 'revoked' then return {'revoked', reason} end
return {'ours', string.format('%.0f', math.floor((expires - us) / 1000))}
