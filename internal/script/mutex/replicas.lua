-- replicas: how many replicas the server has; -1 where it does not say.
-- KEYS L (for the way to the right server)
return tonumber(string.match(redis.call('INFO', 'replication'), 'connected_slaves:(%d+)') or '-1')
