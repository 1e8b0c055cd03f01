-- shared_state: who holds a shared lock. Writes nothing. Straight code.
-- needs: L, H, us, kind, and part/shared_ids.lua
-- gives: seen, what L says: kind, capacity, head, heard; other, the kind if it is
--   another; foreign, L's value if another program set it; light and heavy, how
--   many hold; below, how many stand in H before the heavy ones that do
local seen, other, foreign = redis.pcall('HMGET', L, 'kind', 'capacity', 'head', 'heard'), nil, nil
if seen.err then
  if not string.find(seen.err, 'WRONGTYPE', 1, true) then return seen end
  local value = redis.call('GET', L)
  if string.find(value, '^[%w_-]+%.[%w_-]+%.%d+|') or string.find(value, '^rest|') then
    other = 'mutex'
  else
    foreign = value
  end
  seen = {}
elseif not seen[1] and redis.call('PTTL', L) ~= -2 then
  return redis.error_reply('WRONGTYPE ' .. L .. ' is a hash of another program')
elseif seen[1] and seen[1] ~= kind then
  other = seen[1]
end
-- Whoever is over by the clock holds no more, whether or not it was removed.
local light = redis.call('ZCOUNT', H, string.format('(%.0f', us + LIGHT), '+inf')
local heavy = redis.call('ZCOUNT', H, string.format('(%.0f', us), string.format('(%.0f', LIGHT))
local below = heavy > 0 and redis.call('ZCOUNT', H, '-inf', string.format('%.0f', us)) or 0
if light + heavy > 0 and not seen[1] and not foreign then
  local at = light > 0 and -1 or below
  local one = redis.call('ZRANGE', H, at, at)[1]
  if kind_of(one) ~= kind then other = kind_of(one) end
end
