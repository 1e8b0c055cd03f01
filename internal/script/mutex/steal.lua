-- steal: takes the name from its holder, hands it over, and leaves a note for the old holder.
-- KEYS lock fence queue revocation
-- ARGV id, shard suffix, reason
-- answers taken (what the server said when it refused to publish), not held (holder, time), again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, revocation = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, suffix, word = ARGV[1], ARGV[2], 'stolen ' .. ARGV[1] .. '|' .. ARGV[3]

local holder = redis.call('GETRANGE', lock, '0', '{{text_end}}')
if holder ~= id then
  if redis.call('GETRANGE', revocation, '0', '{{text_end}}') == word then return {'taken', ''} end -- it has run before
  return {'not held', holder, us}
end
local waiting = redis.call('ZCARD', queue)
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
-- include part/notify.lua
local mine, gone, tolerant = '', '', true
-- include part/survey_queue.lua
-- include part/retry_after_removal.lua

local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
redis.call('PEXPIRE', revocation, ttl) -- first: full memory never refuses this, nor then what follows
redis.call('SET', revocation, word, 'PX', ttl)
-- include part/hand_over.lua
publish(id, 'revoked ')
return {'taken', refused}
