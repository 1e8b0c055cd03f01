-- shared_reduce_weight: stores the reduced weight of a holder whose time was just prolonged, and makes
-- those waiters holders that fit then. If it fails, what is stored is true, and the waiters poll. Straight
-- code.
-- needs: lock, fence, queue, holders, us, t, id, weight, and what read_fence.lua gives   gives: refused
local suffix, size_key = ARGV[3], nil -- a lock stores the size
-- include part/shared_ids.lua
if weight > 1 then
  redis.call('ZADD', holders, -weight, reduced(id))
else
  redis.call('ZREM', holders, reduced(id)) -- its score says so
end
local kind = kind_of(id)
-- include part/shared_read_state.lua
-- include part/shared_notify.lua
if seen[1] and not other then -- else the lock key knows nothing of us, and the waiters ask by themselves
  -- include part/shared_survey_queue.lua
  -- include part/shared_expiries.lua
  -- include part/shared_hand_over.lua
  -- include part/shared_count_used.lua
  local plan = survey('', id, used, tonumber(seen[2]))
  if not plan.other then hand_over(plan, '', '', tonumber(seen[2])) end
end
