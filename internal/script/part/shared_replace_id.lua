-- shared_replace_id: replaces a former id among the holders by id, whose part is smaller, removes what a
-- late lock has left in the queue, and makes those waiters holders that fit then. Straight code.
-- needs: lock, fence, queue, holders, us, t, id, former (nil: id holds), locked, ttl, and what
--   read_fence.lua gives
-- gives: refused
local suffix, size_key = ARGV[3], nil -- a lock stores the size
-- include part/shared_ids.lua
local kind = kind_of(id)
-- include part/shared_read_state.lua
-- include part/shared_notify.lua
if other or not seen[1] then -- the lock key knows nothing of us
  redis.call('PEXPIRE', holders, math.max(ttl, redis.call('PTTL', holders)))
  redis.call('ZADD', holders, score_of(id, us + 1000 * ttl), id)
  redis.call('ZREM', holders, former or '')
  redis.call('ZREM', queue, locked)
else
  -- include part/shared_survey_queue.lua
  -- include part/shared_expiries.lua
  -- include part/shared_hand_over.lua
  -- include part/shared_count_used.lua
  if former then used = used - weight_of(former) + weight_of(id) end
  local plan = survey('', locked, used, tonumber(seen[2]))
  plan.drop[#plan.drop + 1] = locked -- it may stand behind the first
  table.insert(plan.grants, 1, id)
  hand_over(plan, id, former or '', tonumber(seen[2]))
end
