-- shared_read_state: reads which ids hold a shared lock. Writes nothing. Straight code.
-- needs: lock, holders, us, kind, and shared_ids.lua
-- gives: seen, what the lock key says: kind, capacity, head, when the head last asked, or became head; other, the kind
--   if it is another; foreign, the lock key's value if another program set it; light and heavy, how
--   many hold; below, how many stand in the holders key before the heavy ones that hold
local seen, other, foreign = redis.pcall('HMGET', lock, 'kind', 'capacity', 'head', 'asked'), nil, nil
if seen.err then
  if not string.find(seen.err, 'WRONGTYPE', 1, true) then return seen end
  local value = redis.call('GETRANGE', lock, '0', '{{text_end}}')
  if string.find(value, '^[%w_-]+%.[%w_-]+%.%d+|') or string.find(value, '^cooldown|') then
    other = 'mutex'
  else
    foreign = value
  end
  seen = {}
elseif not seen[1] and redis.call('PTTL', lock) ~= -2 then
  return redis.error_reply('WRONGTYPE ' .. lock .. ' is a hash of another program')
elseif seen[1] and seen[1] ~= kind then
  other = seen[1]
end
for i = 1, 4 do
  if seen[i] and #seen[i] > {{text_end}} then return redis.error_reply('WRONGTYPE ' .. lock .. ' is a hash of another program') end
end
-- An id whose time is over by the clock holds no more, removed or not.
local light = redis.call('ZCOUNT', holders, string.format('(%.0f', us + LIGHT), '+inf')
local heavy = redis.call('ZCOUNT', holders, string.format('(%.0f', us), string.format('(%.0f', LIGHT))
local below = heavy > 0 and redis.call('ZCOUNT', holders, '-inf', string.format('%.0f', us)) or 0
if light + heavy > 0 and not seen[1] and not foreign then
  local at = light > 0 and -1 or below
  local one = redis.call('ZRANGE', holders, at, at)[1]
  if kind_of(one) ~= kind then other = kind_of(one) end
end
