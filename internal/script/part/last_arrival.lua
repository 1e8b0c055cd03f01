-- last_arrival: finds the last arrival in the queue, or 0. A score that no clock of ours gives (inf,
-- 1e300; 9e15 is the year 2255) was set by another program and does not count: one more than that
-- would be the same, and no order. Straight code.
-- needs: queue   gives: last_arrival
local last_arrival = tonumber(redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')[2]) or 0
if last_arrival >= 9e15 then last_arrival = 0 end
