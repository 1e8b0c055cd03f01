-- once_end: notes how a run ended, if it is still the newest and has not ended yet.
-- KEYS lock once
-- ARGV token, outcome, ttl of the record in ms; of a tick also: run, and how many us of its tick are
--   taken back, '0' or the period
-- answers noted (time), newer (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local once, token = KEYS[2], ARGV[1]

local record = redis.call('GETRANGE', once, '0', '{{text_end}}')
local whose, began, ended, tick, plan, owner, _
if ARGV[4] then
  _, began, ended, tick, plan, whose, owner = string.match(record, '^(%d+)%.(%d+)%.(%d+)%.(%d+)(%.%d+%.%d+%.(%w+))|([^|]*)|')
else
  whose, began, ended, owner = string.match(record, '^(%d+)%.(%d+)%.(%d+)|([^|]*)|')
end
if whose ~= (ARGV[4] or token) then return {'newer', us} end
if ended == '0' then
  redis.call('PEXPIRE', once, ARGV[3]) -- first: full memory never refuses this, nor then the SET
  local of = tick and string.format('.%.0f', tick - ARGV[5]) .. plan or ''
  redis.call('SET', once, string.format('%s.%s.%.0f', token, began, us) .. of .. '|' .. owner .. '|' .. ARGV[2], 'PX', ARGV[3])
end
return {'noted', us}
