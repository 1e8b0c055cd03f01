-- leader: who leads an election, and the term that he announced. Writes nothing.
-- KEYS L T
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, T = KEYS[1], KEYS[2]
local holder = redis.call('GET', L)
local term, whose = string.match(redis.call('GET', T) or '', '^(%d+) (.*)$')
if not holder or whose ~= holder then term = '0' end
return {'leader', us, holder or '', holder and redis.call('PTTL', L) or -2, term}
