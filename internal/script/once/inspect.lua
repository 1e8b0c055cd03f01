-- once_inspect: reads the record of the newest run, and the holder of the name; with a schedule
-- also its nearest tick. Writes nothing.
-- KEYS lock once
-- ARGV nothing, or period in us, and phase in us or ''
-- answers once (time, holder, remaining ms, record; with a schedule also due, begun or another, tick
--   and phase in us)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local once, every, phase = KEYS[2], ARGV[1], ARGV[2]
if not every then
  return {'once', us, redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]), redis.call('GET', once) or ''}
end
local held = redis.pcall('GET', KEYS[1])
if not held or type(held) == 'table' then held = '' end -- once_lock answers which kind it is
-- include part/nearest_tick.lua
return {'once', us, held, redis.call('PTTL', KEYS[1]), record, verdict, string.format('%.0f', tick), string.format('%.0f', phase)}
