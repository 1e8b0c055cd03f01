-- once_inspect: reads the record of the newest run, and the holder of the name; with a schedule
-- also its nearest tick. Writes nothing.
-- KEYS lock once
-- ARGV nothing, or period in us, and phase in us or ''
-- answers once (time, holder, remaining ms, record; with a schedule also due, begun or another, tick
--   and phase in us)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, once, every, phase = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if not every then
  local stored = redis.call('GETRANGE', once, '0', '{{text_end}}')
  -- include part/refuse_version.lua
  return {'once', us, redis.call('GETRANGE', lock, '0', '{{text_end}}'), redis.call('PTTL', lock), stored}
end
local held = redis.pcall('GETRANGE', lock, '0', '{{text_end}}')
if type(held) == 'table' then held = '' end -- once_lock answers which kind it is
local stored = held
-- include part/refuse_version.lua
-- include part/nearest_tick.lua
return {'once', us, held, redis.call('PTTL', lock), record, verdict, string.format('%.0f', tick), string.format('%.0f', phase)}
