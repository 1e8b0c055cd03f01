-- exported: reports whether an exported id still has the name, and may prolong it.
-- KEYS lock fence queue revocation
-- ARGV id, last token that its exporter knew of; then, to prolong it: renew
-- answers stands (remaining ms, waiters, time), adopted (holder, time), lost (holder, time), revoked
--   (reason), stolen (reason)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, revocation = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

local ending, reason
-- include part/read_holder.lua
-- include part/read_revocation.lua
if ending == 'adopted' then return {'adopted', holder ~= id and holder or '', us} end -- the lock key can be stale
if ending then return {ending, reason} end
if holder ~= id then return {'lost', holder or '', us} end
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
if newest_token > tonumber(ARGV[2]) then return {'lost', '', us} end -- others had the name since: the lock key is stale
local waiting = redis.call('ZCARD', queue)
if ARGV[3] then
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
  -- include part/token_memory.lua
  redis.call('PEXPIRE', lock, ttl)
  size, top = 0, newest_token
  -- include part/reserve_tokens.lua
end
return {'stands', redis.call('PTTL', lock), waiting, us}
