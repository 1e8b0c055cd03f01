-- shared_capacity: which capacity counts: that of L while anybody holds, else the
-- stored size of a semaphore, else what the request says. Writes nothing. Straight code.
-- needs: seen of part/shared_read_state.lua, sized (the size key or nil), capacity, which it sets
-- gives: differs, what stands before an answer if the request says another size
local stored, differs = tonumber(seen[2] or sized and redis.call('GET', sized) or ''), ''
if stored and stored >= 1 and stored <= 1073741824 and stored ~= capacity then
  capacity = stored
  differs = string.format('sized %.0f ', capacity)
end
