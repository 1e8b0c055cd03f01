-- shared_ended: removes from H whose time has ended, of the light and of the others
-- 500 at most: there may be thousands. Straight code.
-- needs: H, us, LIGHT
local over = redis.call('ZCOUNT', H, '-inf', string.format('%.0f', us))
if over > 0 then redis.call('ZREMRANGEBYRANK', H, 0, math.min(over, 500) - 1) end
local light_over = redis.call('ZCOUNT', H, string.format('%.0f', LIGHT), string.format('%.0f', us + LIGHT))
if light_over > 0 then
  local at = redis.call('ZCOUNT', H, '-inf', string.format('(%.0f', LIGHT))
  redis.call('ZREMRANGEBYRANK', H, at, at + math.min(light_over, 500) - 1)
end
