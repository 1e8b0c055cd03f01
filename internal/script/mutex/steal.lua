-- steal: takes the name from its holder, hands it over, and leaves word for the
-- one who had it.
-- KEYS L F Q R
-- ARGV id, shard suffix, reason
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, R = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, suffix, word = ARGV[1], ARGV[2], 'stolen ' .. ARGV[1] .. '|' .. ARGV[3]

local holder = redis.call('GET', L)
if holder ~= id then
  if redis.call('GET', R) == word then return {'taken', ''} end -- it has run before
  return {'not held', holder or '', us}
end
local waiting = redis.call('ZCARD', Q)
local now, fence, pushed, base, room
-- include part/read_fence.lua
-- include part/notify.lua
local mine, gone, tolerant, asked = '', '', true, 0
-- include part/survey_queue.lua
-- include part/retry_after_removal.lua

local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
redis.call('PEXPIRE', R, ttl) -- first: full memory never refuses it, and then nothing that follows
redis.call('SET', R, word, 'PX', ttl)
-- include part/hand_over.lua
publish(id, 'revoked ')
return {'taken', refused}
