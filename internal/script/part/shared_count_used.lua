-- shared_count_used: adds up the parts of all holders. Writes nothing. Straight code.
-- needs: holders, and shared_read_state.lua
-- gives: used
local used = light
if heavy > 0 then
  local ids, match = redis.call('ZRANGE', holders, below, below + heavy - 1), string.match
  for i = 1, #ids do used = used + (match(ids[i], '%.%a(%d+)|') or 1) end
end
