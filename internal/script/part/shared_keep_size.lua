-- shared_keep_size: keeps the size of a semaphore for 30 days from each use, so that it outlives the holders.
-- Straight code, behind a write that full memory does refuse, if the lock key is new.
-- needs: size_key (or nil), capacity
if size_key and redis.call('PEXPIRE', size_key, '{{size_ttl_ms}}') == 0 then
  redis.call('SET', size_key, string.format('%.0f', capacity), 'PX', '{{size_ttl_ms}}')
end
