-- election_leader, SHA 3e54601e071e408ad20906e27aba3d0f55acebe1, of the text behind the empty line

-- election_leader: reads the leader of an election, with the term and the value that it announced.
-- Writes nothing.
-- KEYS lock term
-- ARGV -
-- answers leader (time, holder, remaining ms, term, number of the value, value)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, term = KEYS[1], KEYS[2]
local holder = redis.call('GETRANGE', lock, '0', '1023')
local px = redis.call('PTTL', lock)
if px == -2 then holder = false end
local term_now, number, value, whose = string.match(redis.call('GETRANGE', term, '0', '1023'), '^(%d+) (%d+) ([^|]*)|(.*)$')
if not holder or whose ~= holder then term_now, number, value = '0', '0', '' end
return {'leader', us, holder or '', px, term_now, number, value}
