-- details_inspect: reads the process details that a client shows to people. Writes nothing.
-- KEYS details
-- ARGV -
-- answers details (the text)
redis.call('TIME')
return {'details', redis.call('GET', KEYS[1]) or ''}
