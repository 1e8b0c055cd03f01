-- shared_lock: asks for a part of what a name has, or asks again.
-- KEYS L F Q H, of a semaphore the size key
-- ARGV id, the capacity that counts if none is stored, 'try' or 'wait', kept arrival in us or 0, shard suffix
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, H, sized = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, capacity, mode, kept, suffix = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

-- include part/shared_ids.lua
local kind, weight = kind_of(id), weight_of(id)
-- include part/shared_read_state.lua
local waiting = redis.call('ZCARD', Q)
local over = redis.call('ZSCORE', H, id)
local now, fence, pushed, base, room
-- include part/read_fence.lua
if other then return {'other kind', other, seen[2] or 0} end
-- include part/shared_choose_capacity.lua

local function granted(token) return string.format('%sgranted %s 1 0 %s %s', differs, token, t[1], t[2]) end

-- include part/shared_expiries.lua
if over_of(over) > us and not foreign then -- ours already
  local ttl, size, top = ttl_of(id), 1, base
  if not seen[1] then redis.call('HSET', L, 'kind', kind, 'capacity', string.format('%.0f', capacity)) end
  local _, _, latest = ends('')
  local px = math.max(ttl, redis.call('PTTL', L), math.ceil((latest - us) / 1000)) -- L may have been made anew
  redis.call('PEXPIRE', L, px)
  redis.call('ZADD', H, score_of(id, us + 1000 * ttl), id)
  redis.call('PEXPIRE', H, math.max(px, redis.call('PTTL', H)))
  -- include part/reserve_tokens.lua
  return granted(last)
end

if weight > capacity then
  redis.call('ZREM', Q, id) -- it fitted when it was queued, and the size was changed
  return {'too many', string.format('%.0f', capacity)}
end
-- include part/shared_count_used.lua
local fits = not foreign and used + weight <= capacity
-- include part/shared_notify.lua
local function held(by, ms, n) return {'held', by, ms, n, us, refused, '', differs ~= '' and capacity or 0} end
if mode == 'try' and foreign then return held(foreign, redis.call('PTTL', L), waiting) end
if mode == 'try' and waiting == 0 and not fits then
  local first, soonest = ends('')
  return held(first, math.ceil((soonest - us) / 1000), waiting)
end

-- include part/shared_survey_queue.lua
-- include part/shared_hand_over.lua

if waiting == 0 and fits then
  return granted(handover({grants = {id}, drop = {}, never = {}, missed = {}}, id, '', capacity)) .. ' ' .. refused
end

if mode == 'try' then
  local plan = survey(id, '', used, capacity)
  if plan.other then return {'other kind', plan.other, 0} end
  if not plan.mine and not plan.first and not plan.more and plan.used + weight <= capacity then
    plan.grants[#plan.grants + 1] = id
  end
  local token, first, left = handover(plan, id, '', capacity)
  if token then return granted(token) .. ' ' .. refused end
  if plan.more then return {'again', us} end
  return held(first or '', left, redis.call('ZCARD', Q))
end

-- include part/last_arrival.lua
local score = tonumber(kept)
if score == 0 then score = math.max(us, newest + 1) end
local heard = listeners({id})[2] > 0 and '1' or '0'

redis.call('PEXPIRE', Q, '1800000') -- first: full memory never refuses it, and then not the ZADD either
local inserted = redis.call('ZADD', Q, 'NX', string.format('%.0f', score), id)
if waiting == 0 then redis.call('PEXPIRE', Q, '1800000') end
if inserted == 0 then score = tonumber(redis.call('ZSCORE', Q, id)) end

local first, left, look = foreign, 0, 0
if foreign then
  left = redis.call('PTTL', L)
else
  local plan = survey(id, '', used, capacity)
  if plan.other then
    redis.call('ZREM', Q, id)
    return {'other kind', plan.other, 0}
  end
  local token, shown
  token, first, left, shown = handover(plan, id, '', capacity)
  if token then return granted(token) .. ' ' .. refused end
  if plan.more and (not plan.first or plan.first == id) then return {'again', us} end
  look = plan.first == id and math.min(left, 667) or math.max(0, math.ceil((shown - us) / 1000) + 2000)
end
local can = redis.acl_check_cmd -- Redis 7: who stands behind the head publishes nothing that could be refused
if can and refused == '' and not can(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), '') then
  refused = 'NOPERM to publish'
end
local holder, px, rank = first or '', math.min(left, 4000000000000), redis.call('ZRANK', Q, id) or 0
score = string.format('%.0f', score)
local function queued()
  -- include part/answer_queued.lua
end
return differs .. queued()
