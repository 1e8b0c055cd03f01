-- details_inspect, SHA fd0901c2fb2f8b247774d032920c350364d096d5, of the text behind the empty line

-- details_inspect: reads the process details that a client shows to people. Writes nothing.
-- KEYS details
-- ARGV -
-- answers details (the text, cut to 4,097 bytes)
redis.call('TIME')
return {'details', redis.call('GETRANGE', KEYS[1], '0', '4096')}
