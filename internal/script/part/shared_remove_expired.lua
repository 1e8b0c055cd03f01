-- shared_remove_expired: removes holders whose time has ended, at most 500 of the light ones and 500 of
-- the others: there may be thousands. Straight code.
-- needs: holders, us, and shared_ids.lua
local expired = redis.call('ZCOUNT', holders, '0', string.format('%.0f', us))
if expired > 0 then
  local from = redis.call('ZCOUNT', holders, '-inf', '(0')
  local last = from + math.min(expired, {{batch}}) - 1
  local ids = from > 0 and redis.call('ZRANGE', holders, from, last) or {}
  redis.call('ZREMRANGEBYRANK', holders, from, last)
  for i = 1, #ids do redis.call('ZREM', holders, reduced(ids[i])) end
end
local light_expired = redis.call('ZCOUNT', holders, string.format('%.0f', LIGHT), string.format('%.0f', us + LIGHT))
if light_expired > 0 then
  local at = redis.call('ZCOUNT', holders, '-inf', string.format('(%.0f', LIGHT))
  redis.call('ZREMRANGEBYRANK', holders, at, at + math.min(light_expired, {{batch}}) - 1)
end
