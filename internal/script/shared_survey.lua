-- shared_survey: who of the line comes next. A function; it writes nothing.
-- needs: Q, us, kind, seen, shared_ids.lua, shared_wake.lua

-- survey reads the line from its head. Whoever fits is granted, up to 100; the
-- first that does not fit ends it, so nobody overtakes. The id mine needs no
-- listener, the id gone counts as dead. What it returns:
--   grants: ids that become holders   used: with them   mine: it is among them
--   drop: ids that leave Q otherwise, the dead and those that can't fit any more
--   never: these last                 silent: a head that is put to the tail
--   first: the head that is left      more: it stopped at 500 to drop, or 100 grants
--   other: a living waiter is of this other kind
local function survey(mine, gone, used, capacity)
  local plan = {grants = {}, drop = {}, never = {}, used = used}
  local ids, from, n = redis.call('ZRANGE', Q, '0', '1'), 2, 2
  while true do
    local counts = listeners(ids)
    for i, id in ipairs(ids) do
      local weight = weight_of(id)
      if id == gone or id ~= mine and counts[2 * i] == 0 then
        plan.drop[#plan.drop + 1] = id
      elseif kind_of(id) ~= kind then
        plan.other = kind_of(id)
        return plan
      elseif weight > capacity then -- the size was changed; it asks again, and is told
        plan.drop[#plan.drop + 1], plan.never[#plan.never + 1] = id, id
      elseif plan.used + weight <= capacity and #plan.grants < 100 then
        plan.used = plan.used + weight
        plan.grants[#plan.grants + 1] = id
        if id == mine then plan.mine = true end
      elseif id ~= mine and id == seen[3] and us - seen[4] > 2000000 and plan.used + weight > capacity then
        plan.silent = id
      else
        plan.first, plan.more = id, plan.used + weight <= capacity
        return plan
      end
      if #plan.drop == 500 then
        plan.more = true
        return plan
      end
    end
    if #ids < n then
      plan.first = plan.silent -- nobody stood behind it
      return plan
    end
    ids = redis.call('ZRANGE', Q, from, from + 63)
    from, n = from + 64, 64
  end
end
