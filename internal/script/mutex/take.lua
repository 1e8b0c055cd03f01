-- take: takes the name from its holder for the id that asks, and leaves a note for the
-- old holder. Waiters keep their places.
-- KEYS lock fence queue revocation
-- ARGV id, shard suffix, the holder's id, reason
-- answers granted (one line, as lock does), not held (holder, time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, revocation = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mine, suffix, id = ARGV[1], ARGV[2], ARGV[3]

-- include part/read_holder.lua
if holder ~= mine and holder ~= id then return {'not held', holder or '', us} end
local waiting = redis.call('ZCARD', queue)
local stored = waiting > 0 and redis.call('ZRANGE', queue, '-1', '-1')[1] or nil
-- include part/refuse_version.lua
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
-- include part/notify.lua

local nonce, ttl = string.match(mine, '^[^.]+%.([^.]+)%.(%d+)|')
-- include part/token_memory.lua
local remaining = tonumber(ttl)
if holder == mine then remaining = math.max(remaining, redis.call('PTTL', lock)) end -- a min hold is not cut short
redis.call('PEXPIRE', lock, string.format('%.0f', remaining)) -- first: full memory never refuses this, nor then what follows
if holder ~= mine then
  redis.call('SET', lock, mine, 'PX', ttl)
  redis.call('SET', revocation, 'stolen ' .. id .. '|' .. ARGV[4], 'PX', string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
end
-- include part/reserve_tokens.lua
if holder == mine then
  redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + redis.call('PTTL', lock)))) -- it outlives a min hold
else
  -- include part/notify_front.lua
  notify_front({{front_size}}, tonumber(ttl)) -- the new ttl may be shorter than the one they know
  publish(id, 'revoked ')
end
return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2] .. (refused ~= '' and ' ' .. refused or '')
