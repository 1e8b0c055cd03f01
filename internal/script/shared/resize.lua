-- shared_resize: sets the size of a semaphore, for its holders, its waiters and all that come.
-- KEYS lock fence queue holders, size key
-- ARGV size, shard suffix
-- answers resized, other kind, again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders, size_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local capacity, size_text, suffix, kind = tonumber(ARGV[1]), ARGV[1], ARGV[2], 'semaphore'

-- include part/shared_ids.lua
-- include part/shared_read_state.lua
if other then return {'other kind', other, seen[2] or 0} end
local stored = foreign
-- include part/refuse_version.lua
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
-- include part/shared_notify.lua
-- include part/shared_survey_queue.lua
-- include part/shared_expiries.lua
-- include part/shared_hand_over.lua

-- include part/shared_count_used.lua
local plan = not foreign and survey('', '', used, capacity)
if plan and plan.other then return {'other kind', plan.other, 0} end
redis.call('PEXPIRE', size_key, '{{size_ttl_ms}}') -- first: full memory never refuses this, nor then what follows
redis.call('SET', size_key, ARGV[1], 'PX', '{{size_ttl_ms}}')
if not plan then return {'resized'} end
if seen[1] then
  redis.call('PEXPIRE', lock, math.max(1, redis.call('PTTL', lock)))
  redis.call('HSET', lock, 'capacity', ARGV[1])
end
hand_over(plan, '', '', capacity)
if plan.more and not plan.first then return {'again', us} end
return {'resized'}
