-- shared_state: who holds a shared lock. Writes nothing. Straight code.
-- needs: L, H, us, kind, and shared_ids.lua
-- gives: seen, what L says: kind, capacity, head, heard; other, the kind if it is
--   another; foreign, L's value if another program set it; live, how many hold;
--   used, their weights
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
local live, used = redis.call('ZCOUNT', H, string.format('(%.0f', us), '+inf'), 0
if live > 0 then
  -- A writer is alone; of many readers each weighs 1, and one is looked at.
  local all = kind == 'semaphore' or live == 1
  local ids, match = redis.call('ZRANGE', H, all and -live or -1, -1), string.match
  for i = 1, #ids do used = used + (match(ids[i], '%.%a(%d+)|') or 1) end
  if not all then used = live end
  if not seen[1] and not foreign and kind_of(ids[1]) ~= kind then other = kind_of(ids[1]) end
end
