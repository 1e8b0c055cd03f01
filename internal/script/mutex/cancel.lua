-- cancel: ends an id that is given up, wherever it stands.
-- KEYS L F Q
-- ARGV id, shard suffix
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q = KEYS[1], KEYS[2], KEYS[3]
local id, suffix = ARGV[1], ARGV[2]

local holder = redis.pcall('GET', L)
if type(holder) == 'table' then -- a lock of a shared kind: no place in its line is ours
  local is = redis.pcall('HMGET', L, 'kind')
  if is.err or not is[1] then return holder end
  redis.call('ZREM', Q, id)
  return {'cancelled', us, ''}
end
local rank = redis.call('ZRANK', Q, id)
local free = not holder or holder == id
-- include part/notify.lua

if not free and rank ~= 0 then
  redis.call('ZREM', Q, id)
  if rank and rank < 16 then
    -- include part/notify_front.lua
    near(1, redis.call('PTTL', L))
  end
  return {'cancelled', us, refused}
end

local now, fence, pushed, base, room
-- include part/read_fence.lua
local mine, gone, tolerant, asked = '', id, true, 0
-- include part/survey_queue.lua
dead[#dead + 1] = id
-- include part/retry_after_removal.lua
if free then
  local waiting = redis.call('ZCARD', Q)
  -- include part/hand_over.lua
else
  local left, life = redis.call('ZREM', Q, unpack(dead)), redis.call('PTTL', L)
  if chosen then -- else Q is empty
    -- include part/notify_front.lua
    near(left, life)
    publish(chosen, string.format('next %.0f ', life))
  end
end
return {'cancelled', us, refused}
