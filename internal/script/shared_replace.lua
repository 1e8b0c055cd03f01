-- shared_replace: replaces a former id in H by id, whose part is smaller, and makes
-- holders of those who fit then. Straight code.
-- needs: L, F, H, us, t, id, former, ttl, and what fence.lua gives
-- gives: refused
local Q, suffix, sized = KEYS[3], ARGV[3], nil -- a lock stores the size
-- include shared_ids.lua
local kind = kind_of(id)
-- include shared_state.lua
-- include shared_wake.lua
if other or not seen[1] then -- L knows nothing of us
  redis.call('PEXPIRE', H, math.max(ttl, redis.call('PTTL', H)))
  redis.call('ZADD', H, score_of(id, us + 1000 * ttl), id)
  redis.call('ZREM', H, former)
else
  -- include shared_survey.lua
  -- include shared_ends.lua
  -- include shared_handover.lua
  -- include shared_used.lua
  local capacity = tonumber(seen[2])
  local plan = survey('', former, used - weight_of(former) + weight_of(id), capacity)
  table.insert(plan.grants, 1, id)
  handover(plan, id, former, capacity)
end
