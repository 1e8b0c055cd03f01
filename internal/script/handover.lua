-- handover: gives L to the first waiter that has a listener. Functions, so it
-- is included after the uncontended path.
-- needs: F, L, Q, t, now, base, room, and wake.lua

-- include near.lua

-- survey reads the line from its head and writes nothing. It returns the dead
-- that stand in front, the first id with a listener, the next one with a
-- listener, and whether it stopped after 500 dead. The id mine needs no
-- listener; the id gone counts as dead. Tolerant is of wake.lua.
local function survey(mine, gone, tolerant)
  local dead, chosen = {}, nil
  local ids, from, n = redis.call('ZRANGE', Q, '0', '1'), 2, 2 -- most often these are all it takes
  while true do
    local listening = listeners(ids, tolerant)
    for i, id in ipairs(ids) do
      if id ~= gone and (id == mine or listening(i)) then
        if chosen then return dead, chosen, id, false end
        chosen = id
      else
        dead[#dead + 1] = id
        if #dead == 500 then return dead, chosen, nil, true end
      end
    end
    if #ids < n then return dead, chosen, nil, false end
    ids = redis.call('ZRANGE', Q, from, from + 63)
    from, n = from + 64, 64
  end
end

-- handover removes the dead, makes chosen the holder and tells it, unless it is
-- mine, whose request is being answered; then it tells who came near, and the new head. Without a
-- chosen the name is free. Returns the life that L got in ms, the stride's size,
-- how many wait, and the stride's last token.
local function handover(dead, chosen, following, mine, asked)
  dead[#dead + 1] = chosen
  local left, gone = 0, 0
  if #dead > 0 then -- counted first: while a slot moves, a script can't look at a Q that it has emptied
    left = redis.call('ZCARD', Q)
    gone = redis.call('ZREM', Q, unpack(dead))
    left = left - gone
  end
  if not chosen then
    redis.call('DEL', L)
    return '0', 0, 0, '0'
  end
  local px, size = string.match(chosen, '^[^.]+%.[^.]+%.(%d+)|'), asked
  if chosen ~= mine then
    if tonumber(px) > 2000 then px = '2000' end
    size = 64
  end
  size = math.min(size, room)
  local top = base + size - 1
  redis.call('SET', L, chosen, 'PX', px)
  -- include reserve.lua
  if left > math.max(0, 16 - gone) then near(gone, tonumber(px)) end
  if following and following ~= mine then -- before the grant: Redis writes to clients in the opposite order
    publish(following, 'next ' .. px .. ' ')
  end
  if chosen ~= mine then
    publish(chosen, string.format('grant %s %d %d %s %s %s ', last, size, left, t[1], t[2], px))
  end
  return px, size, left, last
end

-- remove takes out the dead that survey stopped at. Who asks again finds so many
-- less, so those who came near are told now.
local function remove(dead)
  local waiting = redis.call('ZCARD', Q)
  local gone = redis.call('ZREM', Q, unpack(dead))
  if waiting > gone then near(gone, math.max(0, redis.call('PTTL', L))) end
end

-- granted is the answer to a request that got the name.
local function granted(size, left, last)
  return string.format('granted %s %d %d %s %s ', last, size, left, t[1], t[2]) .. refused
end
