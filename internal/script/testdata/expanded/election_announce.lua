-- election_announce, SHA 524410ffd7ec482fbfc3c035714b9877c7999e69, of the text behind the empty line

-- election_announce: notes the term of an election's leader and its proclaimed value, and notifies the
-- observers; or notifies them that nobody leads any more.
-- KEYS lock term
-- ARGV id, its token, channel, 's' in a Cluster or '', number and text of the value; 0: the value
--   is in the id
-- answers announced (time, what the server said when it refused to publish, holder)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, term = KEYS[1], KEYS[2]
local id, token, channel, s, number, value = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local holder = redis.call('GETRANGE', lock, '0', '1023')
if holder == '' and redis.call('EXISTS', lock) == 0 then holder = false end
local noted, newest, whose = string.match(redis.call('GETRANGE', term, '0', '1023'), '^(%d+) (%d+) [^|]*|(.*)$')
if holder and holder ~= id then return {'announced', us, '', holder} end -- the new leader announces itself
local same = noted == token and whose == id
local record = token .. ' ' .. number .. ' ' .. value .. '|' .. id
if not holder then
  if same then redis.call('DEL', term) end
elseif same and tonumber(newest) > tonumber(number) then -- a later value is noted already
  redis.call('PEXPIRE', term, '90000000')
else
  redis.call('SET', term, record, 'PX', '90000000')
end
local sent = redis.pcall(s == '' and 'PUBLISH' or 'SPUBLISH', channel, 'changed')
return {'announced', us, type(sent) == 'table' and sent.err or '', holder or ''}
