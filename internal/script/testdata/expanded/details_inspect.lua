-- details_inspect, SHA 7251b4060b2132442279f8ee44922ca2541c4d7e, of the text behind the empty line

-- details_inspect: reads the process details that a client shows to people. Writes nothing.
-- KEYS details
-- ARGV -
-- answers details (the text)
redis.call('TIME')
return {'details', redis.call('GET', KEYS[1]) or ''}
