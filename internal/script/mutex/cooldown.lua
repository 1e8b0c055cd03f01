-- cooldown: ends a tenure before its min hold is over. No waiter gets the name yet: the
-- lock key holds the cool-down until then.
-- KEYS lock fence queue
-- ARGV id, remaining ms, owner, shard suffix, fresh id or ''
-- answers released, not held (holder, time), again; for a fresh id queued, as lock does
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue = KEYS[1], KEYS[2], KEYS[3]
local id, left, suffix, fresh = ARGV[1], ARGV[2], ARGV[4], ARGV[5]
local value = 'cooldown|' .. ARGV[3]

-- include part/read_holder.lua
if holder ~= id then
  redis.call('ZREM', queue, id)
  return {'not held', holder or '', us}
end

-- include part/notify.lua
local mine, gone, tolerant, pushed = fresh, id, true, nil
-- include part/survey_queue.lua
-- include part/retry_after_removal.lua

-- include part/last_arrival.lua
local score = string.format('%.0f', math.max(us, last_arrival + 1))
local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
-- include part/token_memory.lua
local fence_ttl = left + (memory and memory + {{ahead_ms}} or {{fence_ttl_ms}}) -- the name is in use while it cools down
local known, last = redis.call('PTTL', fence), string.match(redis.call('GETRANGE', fence, '0', '{{text_end}}'), '^(%d+) ')

redis.call('PEXPIRE', lock, left) -- first: full memory never refuses this, nor then what follows
redis.call('SET', lock, value, 'PX', left)
if known < fence_ttl then
  redis.call('PEXPIRE', fence, string.format('%.0f', fence_ttl))
end
if last then -- the client claimed what was pushed to it, see part/read_fence.lua
  redis.call('SET', fence, last, 'PX', string.format('%.0f', math.max(known, fence_ttl)))
end
if fresh ~= '' then
  redis.call('ZADD', queue, 'NX', score, fresh)
  redis.call('PEXPIRE', queue, '{{queue_ttl_ms}}')
end
if #dead > 0 then redis.call('ZREM', queue, unpack(dead)) end
if chosen then
  -- include part/notify_front.lua
  notify_front(#dead, tonumber(left))
  publish(chosen, 'head ' .. left .. ' ')
end
if fresh == '' then return 'released ' .. refused end
local holder, px, rank, inserted, poll = value, left, redis.call('ZRANK', queue, fresh) or 0, '1', '0'
-- include part/answer_queued.lua
