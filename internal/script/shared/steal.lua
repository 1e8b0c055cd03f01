-- shared_steal: takes its part from one holder, makes those waiters holders that fit then, and leaves
-- a note for the old holder.
-- KEYS lock fence queue holders, revocation key of id
-- ARGV id, shard suffix, reason
-- answers taken (what the server said when it refused to publish), not held (holder, time), again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders, revocation = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, suffix, word, size_key = ARGV[1], ARGV[2], 'stolen|' .. ARGV[3], nil -- a lock stores the size

-- include part/shared_ids.lua
local kind = kind_of(id)
-- include part/shared_read_state.lua
local score = redis.call('ZSCORE', holders, id)
local held = not foreign and not other and expiry_of(score) > us
if not held and redis.call('GETRANGE', revocation, '0', '{{text_end}}') ~= word then return {'not held', foreign or '', us} end
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
-- include part/shared_notify.lua
-- include part/shared_survey_queue.lua
-- include part/shared_expiries.lua
-- include part/shared_hand_over.lua

local plan
if seen[1] and not other then
  local capacity = tonumber(seen[2])
  -- include part/shared_count_used.lua
  if held then used = used - held_weight(id, score) end
  plan = survey('', '', used, capacity)
  if plan.other then plan = {grants = {}, drop = {}, never = {}, missed = {}} end
end
if held then
  local ttl = ttl_of(id)
  redis.call('PEXPIRE', revocation, ttl) -- first: full memory never refuses this, nor then what follows
  redis.call('SET', revocation, word, 'PX', ttl)
end
if plan then
  hand_over(plan, '', held and id or '', tonumber(seen[2]))
elseif held then
  redis.call('ZREM', holders, id, reduced(id)) -- only the lock key was deleted: the waiters ask by themselves
end
if held then publish(id, 'revoked ') end
if plan and plan.more and not plan.first then return {'again', us} end -- the next run goes on with those behind
return {'taken', refused}
