-- cancel: ends an id that is given up, whether it holds, waits, or is unknown.
-- KEYS lock fence queue
-- ARGV id, shard suffix
-- answers cancelled (time, what the server said when it refused to publish), again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue = KEYS[1], KEYS[2], KEYS[3]
local id, suffix = ARGV[1], ARGV[2]

local holder = redis.pcall('GETRANGE', lock, '0', '{{text_end}}')
if type(holder) == 'table' then -- a lock of a shared kind: no place in its queue is ours
  local kind = redis.pcall('HSTRLEN', lock, 'kind')
  if type(kind) == 'table' or kind == 0 then return holder end
  redis.call('ZREM', queue, id)
  return {'cancelled', us, ''}
end
local rank = redis.call('ZRANK', queue, id)
local free = holder == id or holder == '' and redis.call('EXISTS', lock) == 0
-- include part/notify.lua

if not free and rank ~= 0 then
  redis.call('ZREM', queue, id)
  if rank and rank < {{front_size}} then
    -- include part/notify_front.lua
    notify_front(1, redis.call('PTTL', lock))
  end
  return {'cancelled', us, refused}
end

local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
local mine, gone, tolerant = '', id, true
-- include part/survey_queue.lua
dead[#dead + 1] = id
-- include part/retry_after_removal.lua
if free then
  local waiting = redis.call('ZCARD', queue)
  -- include part/hand_over.lua
else
  local left, remaining = redis.call('ZREM', queue, unpack(dead)), redis.call('PTTL', lock)
  if chosen then -- else the queue is empty
    -- include part/notify_front.lua
    notify_front(left, remaining)
    publish(chosen, string.format('head %.0f ', remaining))
  end
end
return {'cancelled', us, refused}
