-- shared_remove_expired: removes holders whose time has ended, at most 500 of the light ones and 500 of
-- the others: there may be thousands. Straight code.
-- needs: holders, us, LIGHT
local expired = redis.call('ZCOUNT', holders, '-inf', string.format('%.0f', us))
if expired > 0 then redis.call('ZREMRANGEBYRANK', holders, 0, math.min(expired, {{batch}}) - 1) end
local light_expired = redis.call('ZCOUNT', holders, string.format('%.0f', LIGHT), string.format('%.0f', us + LIGHT))
if light_expired > 0 then
  local at = redis.call('ZCOUNT', holders, '-inf', string.format('(%.0f', LIGHT))
  redis.call('ZREMRANGEBYRANK', holders, at, at + math.min(light_expired, {{batch}}) - 1)
end
