-- announce: notes the term of an election's leader and tells those who observe
-- it to look; or tells them that nobody leads any more.
-- KEYS L T
-- ARGV id, its token, channel, 's' in a Cluster or ''
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, T = KEYS[1], KEYS[2]
local id, token, channel, s = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local holder = redis.call('GET', L)
local noted = redis.call('GET', T)
if holder and holder ~= id then return {'announced', us, ''} end -- who leads now announces itself
local term = token .. ' ' .. id
if holder then
  redis.call('SET', T, term, 'PX', '90000000')
elseif noted == term then
  redis.call('DEL', T)
end
local sent = redis.pcall(s == '' and 'PUBLISH' or 'SPUBLISH', channel, 'look')
return {'announced', us, type(sent) == 'table' and sent.err or ''}
