-- shared_lock: asks for a part of the capacity of a name, or asks again.
-- KEYS lock fence queue holders, of a semaphore also its size key
-- ARGV id, the capacity that counts if none is stored, 'try' or 'wait', the arrival that the id had
--   in us or 0, shard suffix
-- answers granted (one line, as lock does), held (holder, its remaining ms, waiters, time, what the
--   server said when it refused to publish, '', stored capacity or 0), queued (see
--   part/answer_queued.lua), too many (capacity), other kind, again; sized CAPACITY stands before
--   granted and queued if another capacity is stored
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders, size_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, capacity, mode, arrival, suffix = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

-- include part/shared_ids.lua
local kind, weight = kind_of(id), weight_of(id)
-- include part/shared_read_state.lua
local waiting = redis.call('ZCARD', queue)
local expires = redis.call('ZSCORE', holders, id)
local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
if other then return {'other kind', other, seen[2] or 0} end
-- include part/shared_choose_capacity.lua

local function granted(token) return string.format('%sgranted %s 1 0 %s %s', differs, token, t[1], t[2]) end

-- include part/shared_expiries.lua
if expiry_of(expires) > us and not foreign then -- ours already
  local ttl, size, top, memory = ttl_of(id), 1, base, memory_of(id)
  if not seen[1] then redis.call('HSET', lock, 'kind', kind, 'capacity', string.format('%.0f', capacity)) end
  local _, _, latest = expiries('')
  local px = math.max(ttl, redis.call('PTTL', lock), math.ceil((latest - us) / 1000)) -- the lock key may be new
  redis.call('PEXPIRE', lock, px)
  local above = tonumber(expires) >= LIGHT and LIGHT or 0 -- a late request does not make the weight larger again
  redis.call('ZADD', holders, string.format('%.0f', us + 1000 * ttl + above), id)
  redis.call('PEXPIRE', holders, math.max(px, redis.call('PTTL', holders)))
  -- include part/reserve_tokens.lua
  return granted(last)
end

if weight > capacity then
  redis.call('ZREM', queue, id) -- it fitted when it was queued, and the size was changed
  return {'too many', string.format('%.0f', capacity)}
end
-- include part/shared_count_used.lua
local fits = not foreign and used + weight <= capacity
-- include part/shared_notify.lua
local function held(by, ms, n) return {'held', by, ms, n, us, refused, '', differs ~= '' and capacity or 0} end
if foreign and (mode == 'try' or string.find(foreign, '^v%d+|')) then return held(foreign, redis.call('PTTL', lock), waiting) end
if mode == 'try' and waiting == 0 and not fits then
  local first, soonest = expiries('')
  return held(first, math.ceil((soonest - us) / 1000), waiting)
end

-- include part/shared_survey_queue.lua
-- include part/shared_hand_over.lua

if waiting == 0 and fits then
  return granted(hand_over({grants = {id}, drop = {}, never = {}, missed = {}}, id, '', capacity)) .. ' ' .. refused
end

if mode == 'try' then
  local plan = survey(id, '', used, capacity)
  if plan.other then return {'other kind', plan.other, 0} end
  if not plan.mine and not plan.first and not plan.more and plan.used + weight <= capacity then
    plan.grants[#plan.grants + 1] = id
  end
  local token, first, left = hand_over(plan, id, '', capacity)
  if token then return granted(token) .. ' ' .. refused end
  if plan.more then return {'again', us} end
  return held(first or '', left, redis.call('ZCARD', queue))
end

-- include part/last_arrival.lua
local score = tonumber(arrival)
if score == 0 then score = math.max(us, last_arrival + 1) end
local listening = listeners({id})[2] > 0 and '1' or '0'

redis.call('PEXPIRE', queue, '{{queue_ttl_ms}}') -- first: full memory never refuses this, nor then the ZADD
local inserted = redis.call('ZADD', queue, 'NX', string.format('%.0f', score), id)
if waiting == 0 then redis.call('PEXPIRE', queue, '{{queue_ttl_ms}}') end
if inserted == 0 then score = tonumber(redis.call('ZSCORE', queue, id)) end

local first, left, head, shown = foreign, 0, nil, nil
if foreign then
  left = redis.call('PTTL', lock)
else
  local plan = survey(id, '', used, capacity)
  if plan.other then
    redis.call('ZREM', queue, id)
    return {'other kind', plan.other, 0}
  end
  local token
  token, first, left, shown = hand_over(plan, id, '', capacity)
  if token then return granted(token) .. ' ' .. refused end
  if plan.more and (not plan.first or plan.first == id) then return {'again', us} end
  head = plan.first
end
local rank, poll = redis.call('ZRANK', queue, id) or 0, 0
if head == id then
  poll = math.min(left, {{head_poll_ms}})
elseif shown == us then -- it has just named the head, so it looks first whether that one is silent, wherever it stands
  poll = {{claim_window_ms}}
elseif shown then -- min: the clock may have gone back
  poll = math.max(0, math.min(0, math.ceil((shown - us) / 1000)) + {{claim_window_ms}}) + {{poll_per_waiter_ms}} * rank
end
local can = redis.acl_check_cmd -- Redis 7: a waiter behind the head publishes nothing that could be refused
if can and refused == '' and not can(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), '') then
  refused = 'NOPERM to publish'
end
local holder, px = first or '', math.min(left, {{longest_pttl_ms}})
score = string.format('%.0f', score)
local function queued()
  -- include part/answer_queued.lua
end
return differs .. queued()
