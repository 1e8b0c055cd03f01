-- announce: notes the term of an election's leader, and the value that it has proclaimed,
-- and tells those who observe it to look; or tells them that nobody leads any more.
-- KEYS L T
-- ARGV id, its token, channel, 's' in a Cluster or '', number and text of the value; 0: it is in the id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, T = KEYS[1], KEYS[2]
local id, token, channel, s, number, value = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local holder = redis.call('GET', L)
local noted, newest, whose = string.match(redis.call('GET', T) or '', '^(%d+) (%d+) [^|]*|(.*)$')
if holder and holder ~= id then return {'announced', us, '', holder} end -- who leads now announces itself
local same = noted == token and whose == id
local term = token .. ' ' .. number .. ' ' .. value .. '|' .. id
if not holder then
  if same then redis.call('DEL', T) end
elseif same and tonumber(newest) > tonumber(number) then -- a later value is noted, this is late
  redis.call('PEXPIRE', T, '90000000')
else
  redis.call('SET', T, term, 'PX', '90000000')
end
local sent = redis.pcall(s == '' and 'PUBLISH' or 'SPUBLISH', channel, 'look')
return {'announced', us, type(sent) == 'table' and sent.err or '', holder or ''}
