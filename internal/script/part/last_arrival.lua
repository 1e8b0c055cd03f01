-- newest: the last arrival in Q, or 0. What no clock of ours gives (inf, 1e300; 9e15 is
-- the year 2255) stands there by another program's hand, and does not count: one more than
-- that would be the same, and no order. Straight code.
-- needs: Q   gives: newest
local newest = tonumber(redis.call('ZRANGE', Q, '-1', '-1', 'WITHSCORES')[2]) or 0
if newest >= 9e15 then newest = 0 end
