-- handover: removes the dead, makes chosen the holder and tells it, unless it is
-- mine, whose request is being answered; before that it tells who came near, and
-- the new head. Without a chosen the name is free. Straight code.
-- needs: F, L, Q, t, now, base, room, waiting (how many stand in Q), mine, asked (the
--   stride for mine), what part/survey_queue.lua gives, and part/notify.lua
-- gives: px, the life that L got in ms; size, of the stride; token, its last; left,
--   how many wait
dead[#dead + 1] = chosen
local px, size, token, left = '0', 0, '0', 0
if #dead > 0 then -- waiting was counted before: while a slot moves, a script can't look at a Q that it has emptied
  local gone = redis.call('ZREM', Q, unpack(dead))
  left = waiting - gone
  if chosen then
    local client
    client, px = string.match(chosen, '^([^.]+)%.[^.]+%.(%d+)|')
    size = asked
    if chosen ~= mine then
      if tonumber(px) > 2000 then px = '2000' end
      size = 64
    end
    size = math.min(size, room)
    local top = base + size - 1
    redis.call('SET', L, chosen, 'PX', px)
    -- include part/fence_ttl.lua
    token = string.format('%.0f', top)
    if chosen ~= mine and left > 0 then -- so that the Client that lets it lapse is known; see part/read_fence.lua
      redis.call('SET', F, token .. ' ' .. client, 'PX', life)
    else
      redis.call('SET', F, token, 'PX', life)
    end
    if left > math.max(0, 16 - gone) then
      -- include part/notify_front.lua
      near(gone, tonumber(px))
    end
    for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
    if following and following ~= mine then -- before the grant: Redis writes to clients in the opposite order
      publish(following, 'next ' .. px .. ' ')
    end
    if chosen ~= mine then
      publish(chosen, 'grant ' .. token .. ' ' .. size .. ' ' .. left .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. px .. ' ')
    end
  end
end
if not chosen then
  redis.call('DEL', L)
  for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
end
