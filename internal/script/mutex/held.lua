-- held: reports whether a tenure still has the name, and for how long. Writes nothing.
-- KEYS lock revocation, or lock alone
-- ARGV id
-- answers ours (remaining ms), lost (holder, time), revoked (reason), stolen (reason)
local lock, revocation = KEYS[1], KEYS[2]
local id = ARGV[1]

local ending, reason
-- include part/read_holder.lua
if revocation then
  -- include part/read_revocation.lua
end
if ending == 'stolen' then return {'stolen', reason} end
if holder ~= id then return {'lost', holder or '', 0} end
if ending == 'revoked' then return {'revoked', reason} end
return {'ours', redis.call('PTTL', lock)}
