-- leader: who leads an election, and the term and the value that he announced. Writes nothing.
-- KEYS L T
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, T = KEYS[1], KEYS[2]
local holder = redis.call('GET', L)
local term, number, value, whose = string.match(redis.call('GET', T) or '', '^(%d+) (%d+) ([^|]*)|(.*)$')
if not holder or whose ~= holder then term, number, value = '0', '0', '' end
return {'leader', us, holder or '', holder and redis.call('PTTL', L) or -2, term, number, value}
