-- shared_replace: replaces a former id in H by id, whose part is smaller, takes what a
-- late lock has left out of Q, and makes holders of those who fit then. Straight code.
-- needs: L, F, Q, H, us, t, id, former (nil: id stands in H), locked, ttl, and what
--   part/read_fence.lua gives
-- gives: refused
local suffix, sized = ARGV[3], nil -- a lock stores the size
-- include part/shared_ids.lua
local kind = kind_of(id)
-- include part/shared_read_state.lua
-- include part/shared_notify.lua
if other or not seen[1] then -- L knows nothing of us
  redis.call('PEXPIRE', H, math.max(ttl, redis.call('PTTL', H)))
  redis.call('ZADD', H, score_of(id, us + 1000 * ttl), id)
  redis.call('ZREM', H, former or '')
  redis.call('ZREM', Q, locked)
else
  -- include part/shared_survey_queue.lua
  -- include part/shared_expiries.lua
  -- include part/shared_hand_over.lua
  -- include part/shared_count_used.lua
  if former then used = used - weight_of(former) + weight_of(id) end
  local plan = survey('', locked, used, tonumber(seen[2]))
  plan.drop[#plan.drop + 1] = locked -- it may stand behind the first
  table.insert(plan.grants, 1, id)
  handover(plan, id, former or '', tonumber(seen[2]))
end
