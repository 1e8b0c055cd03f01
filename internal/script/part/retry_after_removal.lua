-- again: where survey found nobody before it stopped, takes out the dead, and ends.
-- Who asks again finds so many less, so those who came near are told now. Straight
-- code.
-- needs: L, Q, us, dead, chosen, more, missed, and part/notify.lua
if more and not chosen then
  local waiting = redis.call('ZCARD', Q)
  local gone = redis.call('ZREM', Q, unpack(dead))
  for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
  if waiting > gone then
    -- include part/notify_front.lua
    near(gone, math.max(0, redis.call('PTTL', L)))
  end
  return {'again', us}
end
