-- shared_survey_queue: finds which waiters come next. Functions; they write nothing.
-- needs: queue, holders, us, kind, seen, light, heavy, shared_ids.lua, shared_notify.lua

-- absent finds the clients that let their time as holders end, or nil: most often that
-- was a grant that nobody claimed. The client live is not among them: it asks now.
local function absent(live)
  if redis.call('ZCARD', holders) == light + heavy then return nil end
  local clients = {}
  for _, from in ipairs({0, LIGHT}) do
    local expired = redis.call('ZRANGEBYSCORE', holders, string.format('%.0f', from), string.format('%.0f', from + us), 'LIMIT', '0', '{{batch}}')
    for i = 1, #expired do clients[client_of(expired[i])] = true end
  end
  clients[live] = nil
  return next(clients) and clients
end

-- survey reads the queue from its head. Ids that fit are granted, up to 100; the
-- first that does not fit ends it, so that none overtakes. The id mine needs no
-- listener, the id gone counts as dead. What it returns:
--   grants: ids that become holders   used: with them   mine: it is among them
--   drop: ids that leave the queue otherwise: the dead, the missed, and those that can't fit any more
--   never: these last                 first: the head that is left
--   missed: ids of clients that are absent, or were silent at the head
--   more: it stopped at 500 to drop, or 100 grants
--   other: a living waiter is of this other kind
local function survey(mine, gone, used, capacity)
  local live = client_of(mine ~= '' and mine or gone)
  local plan = {grants = {}, drop = {}, never = {}, missed = {}, used = used}
  local silent = absent(live)
  local ids, from, n = redis.call('ZRANGE', queue, '0', '1'), 2, 2
  while not plan.first and not plan.more do
    local counts = listeners(ids)
    for i, id in ipairs(ids) do
      local weight = weight_of(id)
      if id == gone or id ~= mine and counts[2 * i] == 0 then
        plan.drop[#plan.drop + 1] = id
      elseif kind_of(id) ~= kind then
        plan.other = kind_of(id)
        return plan
      elseif silent and silent[client_of(id)] then
        plan.drop[#plan.drop + 1], plan.missed[#plan.missed + 1] = id, id
      elseif weight > capacity then -- the size was changed: it asks again, and learns it
        plan.drop[#plan.drop + 1], plan.never[#plan.never + 1] = id, id
      elseif plan.used + weight <= capacity and #plan.grants < {{most_grants}} then
        plan.used = plan.used + weight
        plan.grants[#plan.grants + 1] = id
        if id == mine then plan.mine = true end
      elseif id ~= mine and id == seen[3] and us - seen[4] > {{claim_window_us}} and plan.used + weight > capacity then
        plan.drop[#plan.drop + 1], plan.missed[#plan.missed + 1] = id, id
        silent = silent or {}
        if client_of(id) ~= live then silent[client_of(id)] = true end
      else
        plan.first, plan.more = id, plan.used + weight <= capacity
        break
      end
      if #plan.drop == {{batch}} then
        plan.more = true
        break
      end
    end
    if #ids < n then break end
    ids = redis.call('ZRANGE', queue, from, from + {{page}} - 1)
    from, n = from + {{page}}, {{page}}
  end
  if silent and next(silent) then -- once each time that a client is silent: all its ids leave
    local known = {}
    for _, list in ipairs({plan.drop, plan.grants}) do
      for _, id in ipairs(list) do known[id] = true end
    end
    for at = 0, {{survey}} - {{batch}}, {{batch}} do
      ids = redis.call('ZRANGE', queue, at, at + {{batch}} - 1)
      for _, id in ipairs(ids) do
        if silent[client_of(id)] and not known[id] and #plan.missed < {{most_missed}} then
          plan.drop[#plan.drop + 1], plan.missed[#plan.missed + 1] = id, id
        end
      end
      if #ids < {{batch}} then break end
    end
  end
  return plan
end
