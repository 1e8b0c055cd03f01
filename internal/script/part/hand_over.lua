-- hand_over: removes the dead waiters, makes chosen the holder and notifies it, unless it is mine,
-- which gets the answer to its request. Before that it notifies the waiters that come to the front,
-- and the new head. Without a chosen the name is free. Straight code.
-- needs: fence, lock, queue, t, token_now, size, top, waiting (the number of waiters), mine, what
--   survey_queue.lua gives, and notify.lua
-- gives: px, the ms that the lock key lives; token, the last that it reserved; left, how many wait
dead[#dead + 1] = chosen
local px, token, left = '0', '0', 0
if #dead > 0 then -- waiting was counted before: while a slot moves, a script can't read a queue that it has emptied
  local gone = redis.call('ZREM', queue, unpack(dead))
  left = waiting - gone
  if chosen then
    local client, nonce, ttl = string.match(chosen, '^([^.]+)%.([^.]+)%.(%d+)|')
    px = ttl
    -- include part/token_memory.lua
    if chosen ~= mine and tonumber(px) > {{claim_window_ms}} then px = '{{claim_window_ms}}' end
    redis.call('SET', lock, chosen, 'PX', px)
    -- include part/fence_ttl.lua
    token = string.format('%.0f', top)
    if chosen ~= mine and left > 0 then -- so that the client is known that lets it expire; see part/read_fence.lua
      redis.call('SET', fence, token .. ' ' .. client, 'PX', fence_px)
    else
      redis.call('SET', fence, token, 'PX', fence_px)
    end
    if left > math.max(0, {{front_size}} - gone) then
      -- include part/notify_front.lua
      notify_front(gone, tonumber(px))
    end
    for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
    if following and following ~= mine then -- before the grant: Redis writes to clients in the opposite order
      publish(following, 'head ' .. px .. ' ')
    end
    if chosen ~= mine then
      publish(chosen, 'grant ' .. token .. ' ' .. size .. ' ' .. left .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. px .. ' ')
    end
  end
end
if not chosen then
  redis.call('DEL', lock)
  for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
end
