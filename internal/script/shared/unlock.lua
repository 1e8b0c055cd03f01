-- shared_unlock: ends an id that holds or waits, and makes those waiters holders that fit then.
-- KEYS lock fence queue holders
-- ARGV id, shard suffix if it is not ''
-- answers released, not held ('', time), again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, suffix, size_key = ARGV[1], ARGV[2] or '', nil -- a lock stores the size

-- include part/shared_ids.lua
local kind = kind_of(id)
local expires = redis.call('ZSCORE', holders, id)
-- include part/shared_read_state.lua
local waiting = redis.call('ZCARD', queue)
local held = expiry_of(expires) > us
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua

if other or foreign or not seen[1] then -- the lock key knows nothing of us
  redis.call('ZREM', holders, id, reduced(id))
  redis.call('ZREM', queue, id)
  if held then return 'released' end
  return {'not held', '', us, ''}
end

-- include part/shared_notify.lua
-- include part/shared_survey_queue.lua
-- include part/shared_expiries.lua
-- include part/shared_hand_over.lua

local capacity = tonumber(seen[2])
local plan = {grants = {}, drop = {}, never = {}, missed = {}}
if waiting > 0 then
  -- include part/shared_count_used.lua
  if held then used = used - held_weight(id, expires) end
  plan = survey('', id, used, capacity)
  if plan.other then plan = {grants = {}, drop = {id}, never = {}, missed = {}} end -- that is no reason not to release
end
local rank = waiting > 0 and not expires and redis.call('ZRANK', queue, id)
if rank and rank < {{front_size}} then plan.drop[#plan.drop + 1] = id end
if rank and rank >= {{front_size}} then redis.call('ZREM', queue, id) end -- before others come to the front
hand_over(plan, '', id, capacity)
if plan.more and not plan.first then return {'again', us} end
if held then return 'released ' .. refused end
return {'not held', '', us, refused}
