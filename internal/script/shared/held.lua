-- shared_held: reports whether a holder still has its part, and for how long. Writes nothing.
-- KEYS holders lock, revocation key of id; or holders alone
-- ARGV id
-- answers ours (remaining ms), lost (holder, time), revoked (reason), stolen (reason)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local holders, lock = KEYS[1], KEYS[2]

local expires = tonumber(redis.call('ZSCORE', holders, ARGV[1]) or '0') % {{light_us}} -- see part/shared_ids.lua
local kind = lock and redis.pcall('HSTRLEN', lock, 'kind')
local no_hash = type(kind) == 'table' and kind.err
local ending, reason = string.match(KEYS[3] and redis.call('GETRANGE', KEYS[3], '0', '{{text_end}}') or '', '^(%a+)|(.*)$')
if no_hash and not string.find(no_hash, 'WRONGTYPE', 1, true) then return kind end
if ending == 'stolen' then return {'stolen', reason} end
if no_hash or expires <= us then return {'lost', no_hash and redis.call('GETRANGE', lock, '0', '{{text_end}}') or '', us} end
if ending == 'revoked' then return {'revoked', reason} end
return {'ours', string.format('%.0f', math.floor((expires - us) / 1000))}
