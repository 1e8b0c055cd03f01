-- retry_after_removal: where survey_queue stopped before it found a living waiter, removes the dead ones
-- and ends the script with again. The next run finds fewer. Waiters that come to the front are
-- notified now. Straight code, no function.
-- needs: lock, queue, us, dead, chosen, more, missed, and notify.lua
if more and not chosen then
  local waiting = redis.call('ZCARD', queue)
  local gone = redis.call('ZREM', queue, unpack(dead))
  for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
  if waiting > gone then
    -- include part/notify_front.lua
    notify_front(gone, math.max(0, redis.call('PTTL', lock)))
  end
  return {'again', us}
end
