-- shared_count_used: adds up the parts of all holders. Writes nothing. It ends the script if more
-- than 100,000 hold several permits: reading them takes too long. Straight code.
-- needs: holders, and shared_read_state.lua
-- gives: used
local used = light
if heavy > {{most_heavy}} then return redis.error_reply('HOLDFAST ' .. holders .. ' has too many holders') end
if heavy > 0 then
  local ids, match = redis.call('ZRANGE', holders, below, below + heavy - 1), string.match
  for i = 1, #ids do used = used + (match(ids[i], '^[^.|]+%.[^.|]+%.%d+%.%a(%d+)|') or 1) end
end
