-- last_arrival: finds the last arrival in the queue, or 0. A score that no clock of ours gives (inf,
-- 1e300; 9e15 is the year 2255) was set by another program and does not count: one more than that
-- would be the same, and no order. It ends the script if another version of the protocol waits.
-- Straight code.
-- needs: lock, queue   gives: last_arrival
local stored, last_arrival = unpack(redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES'))
-- include part/refuse_version.lua
last_arrival = tonumber(last_arrival) or 0
if last_arrival >= 9e15 then last_arrival = 0 end
