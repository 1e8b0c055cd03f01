-- details_inspect: reads the process details that a client shows to people. Writes nothing.
-- KEYS details
-- ARGV -
-- answers details (the text; one that is longer than ours is cut)
redis.call('TIME')
return {'details', redis.call('GETRANGE', KEYS[1], '0', '{{details_end}}')}
