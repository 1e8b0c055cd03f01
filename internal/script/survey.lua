-- survey: reads the line from its head and writes nothing. Straight code.
-- needs: Q, mine (an id that needs no listener, or ''), gone (an id that counts as
--   dead, or ''), tolerant (see wake.lua), and wake.lua
-- gives: dead, those that stand in front, the id gone among them; chosen, the first
--   with a listener; following, the next one; more, it stopped after 500 dead;
--   heard, whether mine has a listener: '1' or '0'
local dead, chosen, following, more = {}, nil, nil, false
local heard
local ids, from, n = redis.call('ZRANGE', Q, '0', '1'), 2, 2 -- most often these are all it takes
while true do
  local counts = listeners(ids, mine)
  heard = (counts[2 * #ids + 2] or 0) > 0 and '1' or '0'
  for i, id in ipairs(ids) do
    if id ~= gone and (id == mine or lives(id, counts[2 * i], tolerant)) then
      following = chosen and id
      chosen = chosen or id
    else
      dead[#dead + 1] = id
      more = #dead == 500
    end
    if following or more then break end
  end
  if following or more or #ids < n then break end
  ids = redis.call('ZRANGE', Q, from, from + 63)
  from, n = from + 64, 64
end
