-- nearest_tick: finds the tick of a schedule that is nearest by the server's clock, and whether its run
-- has begun. It ends the script if another version of the protocol wrote the record. Straight code.
-- needs: lock, once, us, and as text every (period in us) and phase (in us; '': the stored one, or from now on)
-- gives: record; run, whose record it is, and ended, when that did ('0': it has not); every, phase and
--   tick (in us) as numbers; verdict, which is 'due', 'begun' or 'another' (schedule)
local record = redis.call('GETRANGE', once, '0', '{{text_end}}')
local stored = record
-- include part/refuse_version.lua
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
