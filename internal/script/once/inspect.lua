-- once_look: what is remembered of the newest run, and who has the name; with a
-- schedule also its nearest tick. Writes nothing.
-- KEYS L O
-- ARGV nothing, or period in us, phase in us or ''
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local O, every, phase = KEYS[2], ARGV[1], ARGV[2]
if not every then
  return {'once', us, redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]), redis.call('GET', O) or ''}
end
local held = redis.pcall('GET', KEYS[1])
if not held or type(held) == 'table' then held = '' end -- once_lock says which kind it is
-- include part/nearest_tick.lua
return {'once', us, held, redis.call('PTTL', KEYS[1]), record, verdict, string.format('%.0f', tick), string.format('%.0f', phase)}
