-- quorum_unlock: takes an id off one node, whatever it was there.
-- KEYS L
-- ARGV id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, id = KEYS[1], ARGV[1]
-- include quorum_run.lua

-- include holder.lua
if holder and string.match(holder, '^(.*):%d+$') == id then
  redis.call('DEL', L)
  return {'released', '', run}
end
return {'not held', holder or '', us, '', run}
