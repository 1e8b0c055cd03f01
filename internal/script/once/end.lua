-- once_end: remembers how a run ended, if it is still the newest and has not.
-- KEYS L O
-- ARGV token, outcome, life of the record in ms; of a tick: run, and how many us of its
--   tick are taken back, '0' or the period
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local O, token = KEYS[2], ARGV[1]

local record = redis.call('GET', O) or ''
local whose, began, ended, tick, plan, owner, _
if ARGV[4] then
  _, began, ended, tick, plan, whose, owner = string.match(record, '^(%d+)%.(%d+)%.(%d+)%.(%d+)(%.%d+%.%d+%.(%w+))|([^|]*)|')
else
  whose, began, ended, owner = string.match(record, '^(%d+)%.(%d+)%.(%d+)|([^|]*)|')
end
if whose ~= (ARGV[4] or token) then return {'newer', us} end
if ended == '0' then
  redis.call('PEXPIRE', O, ARGV[3]) -- first: full memory never refuses it, and then not the SET either
  local of = tick and string.format('.%.0f', tick - ARGV[5]) .. plan or ''
  redis.call('SET', O, string.format('%s.%s.%.0f', token, began, us) .. of .. '|' .. owner .. '|' .. ARGV[2], 'PX', ARGV[3])
end
return {'noted', us}
