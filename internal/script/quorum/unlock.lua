-- quorum_unlock: removes an id from one node. A client that will come back learns for how long
-- another client wants the name, and is noted behind that one.
-- KEYS lock wanted
-- ARGV id; then, if the client comes back: how many ms after its turn
-- answers released ('', run, ms for which another wants it), not held (holder, time, '', run, ms)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, id = KEYS[1], ARGV[1]
-- include part/quorum_run_id.lua

-- include part/read_holder.lua
local held = holder and string.match(holder, '^(.*):%d+$') == id
if held then redis.call('DEL', lock) end
local back, left = tonumber(ARGV[2]), -2
if back and not string.find(holder or '', '^v%d+|') then -- nothing is noted behind another version
  local wanted, me = KEYS[2], string.match(id, '^[^.]*')
  left = redis.call('PTTL', wanted)
  if left > 0 and redis.pcall('GETRANGE', wanted, '0', '{{text_end}}') == me then
    left = -2
  elseif left > 0 then
    redis.pcall('SET', wanted, me, 'PX', math.min(left, {{max_come_back_ms}}) + back) -- full memory refuses it
  end
end
if held then return {'released', '', run, left} end
return {'not held', holder or '', us, '', run, left}
