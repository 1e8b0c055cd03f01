-- shared_handover: makes holders of those whom survey has found. A function.
-- needs: L, F, Q, H, sized (or nil), t, us, kind, seen, now, base, part/shared_read_state.lua,
--   part/shared_survey_queue.lua, and part/shared_expiries.lua

-- handover does what plan says, tells the new holders but mine, whose request is
-- being answered, and then the new head. The id leaving holds no more. It
-- returns the token of mine or nil, the holder whose time ends first, in how
-- many ms that is, and when the head was heard.
local function handover(plan, mine, leaving, capacity)
  local first, soonest, latest = ends(leaving)
  local life, ended = {}, redis.call('ZCARD', H) - light - heavy
  for i, id in ipairs(plan.grants) do
    life[i] = ttl_of(id)
    if id ~= mine and life[i] > 2000 then life[i] = 2000 end
    local over = us + 1000 * life[i]
    if over > latest then latest = over end
    if not soonest or over < soonest then first, soonest = id, over end
  end

  if not first then -- nobody holds
    if plan.more and seen[1] then -- whoever asks again still needs the capacity
      redis.call('PEXPIRE', L, '2000')
      redis.call('UNLINK', H) -- those who ended may be many: not DEL, which waits until all are freed
    else
      redis.call('UNLINK', L, H)
    end
  else
    local px = math.ceil((latest - us) / 1000)
    if not seen[1] then redis.call('HSET', L, 'kind', kind, 'capacity', string.format('%.0f', capacity)) end
    redis.call('PEXPIRE', L, string.format('%.0f', px)) -- first: full memory never refuses it, and then nothing that follows
    for i, id in ipairs(plan.grants) do redis.call('ZADD', H, score_of(id, us + 1000 * life[i]), id) end
    -- Only now, for while a slot moves a key that was emptied can't be filled.
    if leaving ~= '' then redis.call('ZREM', H, leaving) end
    if ended > 0 then
      -- include part/shared_remove_expired.lua
    end
    if plan.first or plan.more then px = px + 30000 end -- those who wait find in it who let a grant lapse
    redis.call('PEXPIRE', H, string.format('%.0f', px))
    if #plan.grants > 0 then
      local size, top = #plan.grants, base + #plan.grants - 1
      -- include part/reserve_tokens.lua
    end
  end
  local heard = tonumber(seen[4] or 0)
  if first and plan.first and (plan.first == mine or plan.first ~= seen[3]) then
    heard = us
    redis.call('HSET', L, 'head', plan.first, 'heard', string.format('%.0f', us), 'kind', kind, 'capacity', string.format('%.0f', capacity))
    -- Again: where the clock steps back within a script, L may be over by its beginning and have been made anew.
    redis.call('PEXPIRE', L, string.format('%.0f', math.ceil((latest - us) / 1000)))
  end
  local out = plan.drop
  for _, id in ipairs(plan.grants) do out[#out + 1] = id end
  local waiting = plan.more and not plan.first and redis.call('ZCARD', Q) or 0
  local gone = #out > 0 and redis.call('ZREM', Q, unpack(out)) or 0

  -- include part/shared_keep_size.lua
  local token
  local left = first and math.max(0, math.ceil((soonest - us) / 1000)) or 0
  if plan.first or waiting > gone then near(gone, math.min(left, 2000)) end
  for i, id in ipairs(plan.grants) do
    local mark = string.format('%.0f', base + i - 1)
    if id == mine then
      token = mark
    else
      publish(id, string.format('grant %s 1 0 %s %s %d ', mark, t[1], t[2], life[i]))
    end
  end
  for _, id in ipairs(plan.missed) do publish(id, 'missed ') end
  for _, id in ipairs(plan.never) do
    if id ~= mine then publish(id, 'next 0 ') end
  end
  if plan.first and plan.first ~= mine and plan.first ~= seen[3] then
    publish(plan.first, string.format('next %d ', plan.more and 0 or math.min(left, 667)))
  end
  return token, first, left, heard
end
