-- shared_resize: changes the size of a semaphore for who holds it and waits.
-- KEYS L F Q H
-- ARGV size, shard suffix
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, H = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local capacity, suffix, kind = tonumber(ARGV[1]), ARGV[2], 'semaphore'

-- include shared_ids.lua
-- include shared_state.lua
if other then return {'other kind', other, seen[2] or 0} end
if not seen[1] then return {'resized'} end -- nobody holds it: whoever comes says the size
local now, fence, base, room
-- include fence.lua
-- include shared_wake.lua
-- include shared_survey.lua
-- include shared_ends.lua
-- include shared_handover.lua

-- include shared_used.lua
local plan = survey('', '', used, capacity)
if plan.other then return {'other kind', plan.other, 0} end
redis.call('PEXPIRE', L, math.max(1, redis.call('PTTL', L))) -- first: full memory never refuses it
redis.call('HSET', L, 'capacity', ARGV[1])
handover(plan, '', '', capacity)
if plan.more and not plan.first then return {'again', us} end
return {'resized'}
