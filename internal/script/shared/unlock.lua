-- shared_unlock: ends an id, held or given up, wherever it stands, and makes
-- holders of those who fit then.
-- KEYS L F Q H
-- ARGV id, shard suffix where it is not '', then, if its part was made smaller:
-- former ids
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, H = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, suffix, sized = ARGV[1], ARGV[2] or '', nil -- a lock stores the size

-- include part/shared_ids.lua
local kind = kind_of(id)
local over = redis.call('ZSCORE', H, id)
for i = 3, #ARGV do
  local found = redis.call('ZSCORE', H, ARGV[i])
  if found and not over then
    over, id = found, ARGV[i] -- it was never replaced, and now never will be
  elseif found then
    redis.call('ZREM', H, ARGV[i]) -- a late lock has left it
  end
end
-- include part/shared_read_state.lua
local waiting = redis.call('ZCARD', Q)
local held = over_of(over) > us
local now, fence, pushed, base, room
-- include part/read_fence.lua

if other or foreign or not seen[1] then -- L knows nothing of us
  redis.call('ZREM', H, id)
  redis.call('ZREM', Q, id)
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
  if held then used = used - weight_of(id) end
  plan = survey('', id, used, capacity)
  if plan.other then plan = {grants = {}, drop = {id}, never = {}, missed = {}} end -- it does not keep us from releasing
end
local rank = waiting > 0 and not over and redis.call('ZRANK', Q, id)
if rank and rank < 16 then plan.drop[#plan.drop + 1] = id end
if rank and rank >= 16 then redis.call('ZREM', Q, id) end -- before others come near
handover(plan, '', id, capacity)
if plan.more and not plan.first then return {'again', us} end
if held then return 'released ' .. refused end
return {'not held', '', us, refused}
