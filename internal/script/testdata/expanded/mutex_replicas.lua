-- replicas, SHA e2890d6f9d50c52f6d672d6b021e12ff5d79926f, of the text behind the empty line

-- replicas: counts the replicas of the server.
-- KEYS lock (it leads to the right server)
-- ARGV -
-- answers the number; -1 if the server does not say it
return tonumber(string.match(redis.call('INFO', 'replication'), 'connected_slaves:(%d+)') or '-1')
