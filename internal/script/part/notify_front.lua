-- notify_front: notifies those that come among the first 16 of the queue when to ask again. A function.
-- needs: queue, channel and publish of notify.lua or shared_notify.lua

-- notify_front is called after gone ids have left the queue, with the lock key's
-- remaining ms. A waiter far behind polls rarely, and the queue has moved since.
local function notify_front(gone, remaining)
  if gone == 0 or remaining < 0 then return end
  local from, remaining = math.max(0, {{front_size}} - gone), math.min(remaining, {{front_poll_ms}})
  for i, id in ipairs(redis.call('ZRANGE', queue, from, {{front_size}} - 1)) do
    local to = channel(id)
    if to and to ~= '' then publish(id, string.format('front %.0f ', remaining + {{poll_per_waiter_ms}} * (from + i - 1))) end
  end
end
