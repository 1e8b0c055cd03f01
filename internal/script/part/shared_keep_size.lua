-- shared_size: the size of a semaphore outlives its holders: 30 days from each use.
-- Straight code, behind a write that full memory does refuse, if L is new.
-- needs: sized (the size key or nil), capacity
if sized and redis.call('PEXPIRE', sized, '2592000000') == 0 then
  redis.call('SET', sized, string.format('%.0f', capacity), 'PX', '2592000000')
end
