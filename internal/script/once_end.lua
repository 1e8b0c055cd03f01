-- once_end: remembers how a run ended, if it is still the newest and has not.
-- KEYS L O
-- ARGV token, outcome, life of the record in ms
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local O = KEYS[2]

local token, began, ended, owner = string.match(redis.call('GET', O) or '', '^(%d+)%.(%d+)%.(%d+)|([^|]*)|')
if token ~= ARGV[1] then return {'newer', us} end
if ended == '0' then
  redis.call('PEXPIRE', O, ARGV[3]) -- first: full memory never refuses it, and then not the SET either
  redis.call('SET', O, string.format('%s.%s.%.0f|%s|%s', token, began, us, owner, ARGV[2]), 'PX', ARGV[3])
end
return {'noted', us}
