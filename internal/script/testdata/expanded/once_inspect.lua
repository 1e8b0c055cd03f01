-- once_inspect, SHA 39d19d7a38bc421faf6675d883f68aff81ab26fc, of the text behind the empty line

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
  local stored = redis.call('GETRANGE', once, '0', '1023')
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
  return {'once', us, redis.call('GETRANGE', lock, '0', '1023'), redis.call('PTTL', lock), stored}
end
local held = redis.pcall('GETRANGE', lock, '0', '1023')
if type(held) == 'table' then held = '' end -- once_lock answers which kind it is
local stored = held
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
-- nearest_tick: finds the tick of a schedule that is nearest by the server's clock, and whether its run
-- has begun. It ends the script if another version of the protocol wrote the record. Straight code.
-- needs: lock, once, us, and as text every (period in us) and phase (in us; '': the stored one, or from now on)
-- gives: record; run, whose record it is, and ended, when that did ('0': it has not); every, phase and
--   tick (in us) as numbers; verdict, which is 'due', 'begun' or 'another' (schedule)
local record = redis.call('GETRANGE', once, '0', '1023')
local stored = record
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
local ended, newest, period, offset, run = string.match(record, '^%d+%.%d+%.(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%w+)|')
every = tonumber(every)
phase = tonumber(phase ~= '' and phase or offset) or us % every
local tick = math.floor((us - phase) / every + 0.5) * every + phase
local verdict = 'due'
if newest and (tonumber(period) ~= every or tonumber(offset) ~= phase) then
  verdict = 'another'
elseif newest and tonumber(newest) >= tick then
  verdict = 'begun'
end
return {'once', us, held, redis.call('PTTL', lock), record, verdict, string.format('%.0f', tick), string.format('%.0f', phase)}
