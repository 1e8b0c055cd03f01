-- shared_count_used: adds up the parts of all holders. Writes nothing. It ends the script if more
-- than 100,000 hold several permits: reading them takes too long. Straight code.
-- needs: holders, and shared_read_state.lua
-- gives: used; weights, by id, of those that have reduced it to more than 1
local used = light
local weights = {}
if heavy > {{most_heavy}} then return redis.error_reply('HOLDFAST ' .. holders .. ' has too many holders') end
if heavy > 0 then
  local ids, match = redis.call('ZRANGE', holders, below, below + heavy - 1), string.match
  local found = below > 0 and redis.call('ZRANGEBYSCORE', holders, '-inf', '(0', 'WITHSCORES', 'LIMIT', '0', '{{most_heavy}}') or {}
  for i = 1, #found, 2 do weights[match(found[i], '^weight|(.*)') or ''] = -tonumber(found[i + 1]) end
  for i = 1, #ids do used = used + (weights[ids[i]] or match(ids[i], '^[^.|]+%.[^.|]+%.%d+%.%a(%d+)|') or 1) end
end
