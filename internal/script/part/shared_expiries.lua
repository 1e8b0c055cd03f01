-- shared_expiries: finds when the holders' time ends. A function; it writes nothing.
-- needs: holders, us, and shared_read_state.lua

-- expiries finds, among the holders without the id leaving, the one whose time ends
-- first, when that is, and when the last one's ends; nil, nil, 0 if there are none. It
-- reads two at each end, because one of them may be leaving.
local function expiries(leaving)
  local first, soonest, latest = nil, nil, 0
  local function edges(from, n)
    local edge = redis.call('ZRANGE', holders, from, from + math.min(n, 2) - 1, 'WITHSCORES')
    if n > 2 then
      for _, v in ipairs(redis.call('ZRANGE', holders, from + math.max(n - 2, 2), from + n - 1, 'WITHSCORES')) do edge[#edge + 1] = v end
    end
    for i = 1, #edge, 2 do
      local expires = math.min(expiry_of(edge[i + 1]), us + 1000 * {{longest_pttl_ms}}) -- another program sets any score, also inf
      if edge[i] ~= leaving then
        if expires > latest then latest = expires end
        if not soonest or expires < soonest then first, soonest = edge[i], expires end
      end
    end
  end
  if heavy > 0 then edges(below, heavy) end
  if light > 0 then edges(-light, light) end
  return first, soonest, latest
end
