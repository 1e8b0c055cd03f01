-- shared_renew: prolongs one holder's time, and may reserve tokens for it. It never creates a
-- holder or the lock key. If the holder has reduced its weight, it stores that, and makes those
-- waiters holders that fit then. It never makes a weight larger.
-- KEYS lock fence queue holders, revocation key of id, of a semaphore also its size key
-- ARGV id; then, unless the fence key may be left alone: token block or 0; then, if the weight is
--   reduced: shard suffix, weight
-- answers renewed (one line, as renew does), lost (holder, time), revoked (reason), stolen (reason)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, weight = ARGV[1], tonumber(ARGV[4])

local score = redis.call('ZSCORE', holders, id)
local LIGHT = {{light_us}} -- see part/shared_ids.lua; an id above it stays there
local above = score and tonumber(score) >= LIGHT and LIGHT or 0
local expires = score and score - above
local kind = redis.pcall('HSTRLEN', lock, 'kind')
local no_hash = type(kind) == 'table' and kind.err
local ending, reason = string.match(KEYS[5] and redis.call('GETRANGE', KEYS[5], '0', '{{text_end}}') or '', '^(%a+)|(.*)$')
if no_hash and not string.find(no_hash, 'WRONGTYPE', 1, true) then return kind end
if ending == 'stolen' then return {'stolen', reason} end
if no_hash or not expires or expires <= us then
  if expires then redis.call('ZREM', holders, id, 'weight|' .. id) end -- it learns that it is over
  if not no_hash and (kind > 0 or redis.call('PTTL', lock) == -2)
    and redis.call('ZCOUNT', holders, string.format('(%.0f', us), string.format('(%.0f', LIGHT)) == 0
    and redis.call('ZCOUNT', holders, string.format('(%.0f', us + LIGHT), '+inf') == 0 then
    redis.call('UNLINK', lock, holders) -- no holder is left
  end
  return {'lost', no_hash and redis.call('GETRANGE', lock, '0', '{{text_end}}') or '', us}
end
local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)%.')
ttl = tonumber(ttl)
local token_now, newest_token, pushed, base, room, size, top
if ARGV[2] then
  -- include part/read_fence.lua
end

local reduces = false
if weight and above == 0 then
  local stored = -tonumber(redis.call('ZSCORE', holders, 'weight|' .. id) or -string.match(id, '^[^.]+%.[^.]+%.%d+%.%a(%d+)'))
  reduces = weight < stored
  if reduces and weight == 1 then above = LIGHT end
end
redis.call('PEXPIRE', lock, math.max(ttl, redis.call('PTTL', lock))) -- first: full memory never refuses this, nor then what follows
redis.call('PEXPIRE', holders, math.max(ttl, redis.call('PTTL', holders)))
redis.call('ZADD', holders, string.format('%.0f', us + 1000 * ttl + above), id)
if reduces then
  -- include part/shared_reduce_weight.lua
  if ending ~= 'revoked' then return string.format('renewed 0 0 0 %s %s %s', t[1], t[2], refused) end
end
if ending == 'revoked' then return {'revoked', reason} end -- prolonged once more: for work that is stopping
if not ARGV[2] then return 'renewed 0 0 0 0 0' end
size, top = math.min(tonumber(ARGV[2]), room), newest_token
if size > 0 then top = base + size - 1 end
-- include part/token_memory.lua
-- include part/reserve_tokens.lua
-- include part/shared_prolong_size.lua
return string.format('renewed %s %d 0 %s %s', last, size, t[1], t[2])
