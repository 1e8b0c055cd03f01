-- details_inspect: reads the process details that a client shows to people. Writes nothing.
-- KEYS details
-- ARGV -
-- answers details (the text, cut to 4,097 bytes)
redis.call('TIME')
return {'details', redis.call('GETRANGE', KEYS[1], '0', '{{details_end}}')}
