-- held: whether a tenure has the name, and for how long. Writes nothing.
-- KEYS L R, or L alone
-- ARGV id
local L, R = KEYS[1], KEYS[2]
local id = ARGV[1]

local order, reason
-- include part/read_holder.lua
if R then
  -- include part/read_revocation.lua
end
if order == 'stolen' then return {'stolen', reason} end
if holder ~= id then return {'lost', holder or '', 0} end
if order == 'revoked' then return {'revoked', reason} end
return {'ours', redis.call('PTTL', L)}
