-- once_look: what is remembered of the newest run, and who has the name. Writes
-- nothing.
-- KEYS L O
-- ARGV -
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
return {'once', us, redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or ''}
