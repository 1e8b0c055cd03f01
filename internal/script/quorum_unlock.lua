-- quorum_unlock: takes an id off one node, whatever it was there, and says for how long
-- a waiter has it marked as wanted.
-- KEYS L wanted
-- ARGV id
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, id = KEYS[1], ARGV[1]
-- include quorum_run.lua

-- include holder.lua
if holder and string.match(holder, '^(.*):%d+$') == id then
  redis.call('DEL', L)
  return {'released', '', run, redis.call('PTTL', KEYS[2])}
end
return {'not held', holder or '', us, '', run}
