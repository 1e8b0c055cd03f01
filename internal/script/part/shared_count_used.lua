-- shared_used: what the holders have together. Writes nothing. Straight code.
-- needs: H, and part/shared_read_state.lua
-- gives: used
local used = light
if heavy > 0 then
  local ids, match = redis.call('ZRANGE', H, below, below + heavy - 1), string.match
  for i = 1, #ids do used = used + (match(ids[i], '%.%a(%d+)|') or 1) end
end
