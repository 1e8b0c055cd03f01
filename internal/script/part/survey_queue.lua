-- survey_queue: reads the queue from its head and writes nothing. Straight code.
-- needs: queue, holder (false: none), pushed (see part/read_fence.lua), id (of the client that asks), mine
--   (an id that needs no listener, or ''), gone (an id that counts as dead, or ''), tolerant (see
--   part/notify.lua), suffix, and notify.lua
-- gives: dead, those that leave the queue: the dead in front, the id gone if among them, and the missed;
--   chosen, the first that is left; following, the next of another client among some 64, or the next;
--   more, true if it stopped after 500 dead; listening, '1' if mine has a listener, else '0'; missed,
--   ids of the client that let the newest grant expire, or nil
local dead, chosen, following, more = {}, nil, nil, false
local listening, second
local missed, lapsed
if not holder and pushed then
  lapsed = 'holdfast/push:' .. string.match(pushed, '[^ ]*$') .. suffix
  if lapsed == channel(id) then lapsed = nil end -- it lives
end
local ids, from, n = redis.call('ZRANGE', queue, '0', '1'), 2, 2 -- most often these are all it takes
while true do
  local counts = listeners(ids, mine)
  listening = (counts[2 * #ids + 2] or 0) > 0 and '1' or '0'
  for i, id in ipairs(ids) do
    if id ~= gone and (id == mine or lives(id, counts[2 * i], tolerant) and not (lapsed and channels[id] == lapsed)) then
      if not chosen then
        chosen = id
      elseif channels[id] ~= channels[chosen] then
        following = id
      else
        second = second or id
      end
    else
      dead[#dead + 1] = id
      more = #dead == {{batch}}
    end
    if following or more then break end
  end
  if following or more or #ids < n or second and n > 2 then break end
  ids = redis.call('ZRANGE', queue, from, from + {{page}} - 1)
  from, n = from + {{page}}, {{page}}
end
following = following or second
if lapsed then -- once each time that a client is silent: all its ids leave
  local known = {}
  missed = {}
  for _, id in ipairs(dead) do
    known[id] = true
    if channel(id) == lapsed then missed[#missed + 1] = id end
  end
  for at = 0, {{survey}} - {{batch}}, {{batch}} do
    local some = redis.call('ZRANGE', queue, at, at + {{batch}} - 1)
    for _, id in ipairs(some) do
      if channel(id) == lapsed and not known[id] and #missed < {{most_missed}} then
        dead[#dead + 1], missed[#missed + 1] = id, id
      end
    end
    if #some < {{batch}} then break end
  end
end
