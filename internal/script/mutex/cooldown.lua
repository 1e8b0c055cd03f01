-- rest: ends a tenure whose least time of holding is not over. The name goes to
-- nobody yet: L rests for what is left.
-- KEYS L F Q
-- ARGV id, what is left in ms, owner, shard suffix, fresh id or ''
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q = KEYS[1], KEYS[2], KEYS[3]
local id, left, suffix, fresh = ARGV[1], ARGV[2], ARGV[4], ARGV[5]
local value = 'rest|' .. ARGV[3]

-- include part/read_holder.lua
if holder ~= id then
  redis.call('ZREM', Q, id)
  return {'not held', holder or '', us}
end

-- include part/notify.lua
local mine, gone, tolerant, pushed = fresh, id, true, nil
-- include part/survey_queue.lua
-- include part/retry_after_removal.lua

-- include part/last_arrival.lua
local score = string.format('%.0f', math.max(us, newest + 1))
local known, last = redis.call('PTTL', F), string.match(redis.call('GET', F) or '', '^(%d+) ')

redis.call('PEXPIRE', L, left) -- first: full memory never refuses it, and then nothing that follows
redis.call('SET', L, value, 'PX', left)
if known < left + 90001000 then
  redis.call('PEXPIRE', F, string.format('%.0f', left + 90001000)) -- the name is used as long as it rests
end
if last then -- it claimed what was pushed to it, see part/read_fence.lua
  redis.call('SET', F, last, 'PX', string.format('%.0f', math.max(known, left + 90001000)))
end
if fresh ~= '' then
  redis.call('ZADD', Q, 'NX', score, fresh)
  redis.call('PEXPIRE', Q, '1800000')
end
if #dead > 0 then redis.call('ZREM', Q, unpack(dead)) end
if chosen then
  -- include part/notify_front.lua
  near(#dead, tonumber(left))
  publish(chosen, 'next ' .. left .. ' ')
end
if fresh == '' then return 'released ' .. refused end
local holder, px, rank, inserted, look = value, left, redis.call('ZRANK', Q, fresh) or 0, '1', '0'
-- include part/answer_queued.lua
