-- shared_held: whether one holder has its part, and for how long. Writes nothing.
-- KEYS H, L, revocation key of id; or H alone
-- ARGV id, then, if its part was made smaller: former ids
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local H, L = KEYS[1], KEYS[2]

local score = false
for i = 1, #ARGV do score = score or redis.call('ZSCORE', H, ARGV[i]) end
local over = tonumber(score or '0') % 4503599627370496 -- see part/shared_ids.lua
local kind = L and redis.pcall('HMGET', L, 'kind') or {}
local order, reason = string.match(KEYS[3] and redis.call('GET', KEYS[3]) or '', '^(%a+)|(.*)$')
if kind.err and not string.find(kind.err, 'WRONGTYPE', 1, true) then return kind end
if order == 'stolen' then return {'stolen', reason} end
if kind.err or over <= us then return {'lost', kind.err and redis.call('GET', L) or '', us} end
if order == 'revoked' then return {'revoked', reason} end
return {'ours', string.format('%.0f', math.floor((over - us) / 1000))}
