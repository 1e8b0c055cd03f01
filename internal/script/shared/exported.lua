-- shared_exported: reports whether an exported id still holds its part, and may prolong its time.
-- KEYS lock fence queue holders, revocation key of id, of a semaphore also its size key
-- ARGV id; then, to prolong it: renew
-- answers stands (remaining ms, waiters, time), lost (holder, time), revoked (reason), stolen (reason)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

local LIGHT = {{light_us}} -- see part/shared_ids.lua; an id above it stays there
local score = redis.call('ZSCORE', holders, id)
local above = score and tonumber(score) >= LIGHT and LIGHT or 0
local expires = score and score - above
local kind = redis.pcall('HSTRLEN', lock, 'kind')
local no_hash = type(kind) == 'table' and kind.err
local ending, reason = string.match(redis.call('GETRANGE', KEYS[5], '0', '{{text_end}}'), '^(%a+)|(.*)$')
if no_hash and not string.find(no_hash, 'WRONGTYPE', 1, true) then return kind end
if ending == 'stolen' then return {'stolen', reason} end
if no_hash or not expires or expires <= us then return {'lost', no_hash and redis.call('GETRANGE', lock, '0', '{{text_end}}') or '', us} end
if ending == 'revoked' then return {'revoked', reason} end -- not prolonged: the caller need not be the worker that stops
local left = math.floor((expires - us) / 1000)
local waiting = redis.call('ZCARD', queue)
if ARGV[2] then
  local token_now, newest_token, pushed, base, room, size, top
  -- include part/read_fence.lua
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)%.')
  -- include part/token_memory.lua
  left = tonumber(ttl)
  redis.call('PEXPIRE', lock, math.max(left, redis.call('PTTL', lock))) -- first: full memory never refuses this, nor then what follows
  redis.call('PEXPIRE', holders, math.max(left, redis.call('PTTL', holders)))
  redis.call('ZADD', holders, string.format('%.0f', us + 1000 * left + above), id)
  size, top = 0, newest_token
  -- include part/reserve_tokens.lua
  -- include part/shared_prolong_size.lua
end
return {'stands', left, waiting, us}
