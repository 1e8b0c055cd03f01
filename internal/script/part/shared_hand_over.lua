-- shared_hand_over: makes the waiters that survey has found holders. A function.
-- needs: lock, fence, queue, holders, size_key (or nil), t, us, kind, seen, token_now, base,
--   shared_ids.lua, shared_read_state.lua, shared_notify.lua, and shared_expiries.lua

-- hand_over does what plan says, notifies the new holders except mine, which gets
-- the answer to its request, and then the new head. The id leaving holds no more.
-- It returns the token of mine or nil, the holder whose time ends first, in how
-- many ms that is, and when the head last asked, or became head.
local function hand_over(plan, mine, leaving, capacity)
  local first, soonest, latest = expiries(leaving)
  local ttls, ended, memory = {}, redis.call('ZCARD', holders) - light - heavy, 0
  for i, id in ipairs(plan.grants) do
    ttls[i] = ttl_of(id)
    local one = memory and memory_of(id)
    memory = one and math.max(memory, one) -- the longest; false: one has the default
    if id ~= mine and ttls[i] > {{claim_window_ms}} then ttls[i] = {{claim_window_ms}} end
    local expires = us + 1000 * ttls[i]
    if expires > latest then latest = expires end
    if not soonest or expires < soonest then first, soonest = id, expires end
  end

  if not first then -- no holders
    if plan.more and seen[1] then -- the next run still needs the capacity
      redis.call('PEXPIRE', lock, '{{claim_window_ms}}')
      redis.call('UNLINK', holders) -- the expired may be many: not DEL, which waits until all are freed
    else
      redis.call('UNLINK', lock, holders)
    end
  else
    local px = math.ceil((latest - us) / 1000)
    if not seen[1] then redis.call('HSET', lock, 'kind', kind, 'capacity', string.format('%.0f', capacity)) end
    redis.call('PEXPIRE', lock, string.format('%.0f', px)) -- first: full memory never refuses this, nor then what follows
    for i, id in ipairs(plan.grants) do redis.call('ZADD', holders, score_of(id, us + 1000 * ttls[i]), id) end
    -- Only now: while a slot moves, a key that was emptied can't be filled.
    if leaving ~= '' then redis.call('ZREM', holders, leaving, reduced(leaving)) end
    if ended > 0 then
      -- include part/shared_remove_expired.lua
    end
    if plan.first or plan.more then px = px + {{missed_ttl_ms}} end -- waiters find in it the clients that let a grant expire
    redis.call('PEXPIRE', holders, string.format('%.0f', px))
    if #plan.grants > 0 then
      local size, top = #plan.grants, base + #plan.grants - 1
      -- include part/reserve_tokens.lua
    end
  end
  local asked = tonumber(seen[4] or 0)
  if first and plan.first and (plan.first == mine or plan.first ~= seen[3]) then
    asked = us
    redis.call('HSET', lock, 'head', plan.first, 'asked', string.format('%.0f', us), 'kind', kind, 'capacity', string.format('%.0f', capacity))
    -- Again: if the clock steps back within a script, the lock key may have expired and been created again.
    redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((latest - us) / 1000)))
  end
  local out = plan.drop
  for _, id in ipairs(plan.grants) do out[#out + 1] = id end
  local waiting = plan.more and not plan.first and redis.call('ZCARD', queue) or 0
  local gone = #out > 0 and redis.call('ZREM', queue, unpack(out)) or 0

  -- include part/shared_keep_size.lua
  local token
  local left = first and math.max(0, math.ceil((soonest - us) / 1000)) or 0
  if plan.first or waiting > gone then notify_front(gone, math.min(left, {{claim_window_ms}})) end
  for i, id in ipairs(plan.grants) do
    local mark = string.format('%.0f', base + i - 1)
    if id == mine then
      token = mark
    else
      publish(id, string.format('grant %s 1 0 %s %s %d ', mark, t[1], t[2], ttls[i]))
    end
  end
  for _, id in ipairs(plan.missed) do publish(id, 'missed ') end
  for _, id in ipairs(plan.never) do
    if id ~= mine then publish(id, 'head 0 ') end
  end
  if plan.first and plan.first ~= mine and plan.first ~= seen[3] then
    publish(plan.first, string.format('head %d ', plan.more and 0 or math.min(left, {{head_poll_ms}})))
  end
  return token, first, left, asked
end
