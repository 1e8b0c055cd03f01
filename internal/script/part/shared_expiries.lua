-- shared_ends: whose time ends when. A function; it writes nothing.
-- needs: H, and part/shared_read_state.lua

-- ends tells of those who hold, without the id leaving: whose time ends first,
-- when, and when the last one's does; nil, nil, 0 if there are none. It reads two
-- at each end, of which one may be leaving.
local function ends(leaving)
  local first, soonest, latest = nil, nil, 0
  local function look(from, n)
    local edge = redis.call('ZRANGE', H, from, from + math.min(n, 2) - 1, 'WITHSCORES')
    if n > 2 then
      for _, v in ipairs(redis.call('ZRANGE', H, from + math.max(n - 2, 2), from + n - 1, 'WITHSCORES')) do edge[#edge + 1] = v end
    end
    for i = 1, #edge, 2 do
      local over = over_of(edge[i + 1])
      if edge[i] ~= leaving then
        if over > latest then latest = over end
        if not soonest or over < soonest then first, soonest = edge[i], over end
      end
    end
  end
  if heavy > 0 then look(below, heavy) end
  if light > 0 then look(-light, light) end
  return first, soonest, latest
end
