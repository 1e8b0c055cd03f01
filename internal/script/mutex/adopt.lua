-- adopt: makes an id the holder in the place of one that was exported.
-- KEYS lock fence queue revocation
-- ARGV id, exported id, last token that its exporter knew of
-- answers granted (one line, as lock does), lost (holder, time), revoked (reason), stolen (reason)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, revocation = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mine = ARGV[1]

-- include part/read_holder.lua
if holder ~= mine then
  local id, ending, reason = ARGV[2], nil, nil
  -- include part/read_revocation.lua
  if ending == 'adopted' then return {'lost', holder ~= id and holder or '', us} end -- the lock key can be stale
  if ending then return {ending, reason} end
  if holder ~= id then return {'lost', holder or '', us} end
end
local waiting = redis.call('ZCARD', queue)
local stored = waiting > 0 and redis.call('ZRANGE', queue, '-1', '-1')[1] or nil
-- include part/refuse_version.lua
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
if holder ~= mine and newest_token > tonumber(ARGV[3]) then return {'lost', '', us} end -- others had the name since: the lock key is stale

local nonce, ttl = string.match(mine, '^[^.]+%.([^.]+)%.(%d+)|')
-- include part/token_memory.lua
local remaining = tonumber(ttl)
if holder == mine then remaining = math.max(remaining, redis.call('PTTL', lock)) end -- a min hold is not cut short
redis.call('PEXPIRE', lock, string.format('%.0f', remaining)) -- first: full memory never refuses this, nor then what follows
if holder ~= mine then
  redis.call('SET', lock, mine, 'PX', ttl)
  redis.call('SET', revocation, 'adopted ' .. ARGV[2] .. '|', 'PX', '{{adopted_ttl_ms}}')
end
-- include part/reserve_tokens.lua
if holder == mine then redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + redis.call('PTTL', lock)))) end -- it outlives a min hold
return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
