-- once_lock: takes a name for one tick of a schedule and remembers that its run has
-- begun, in one step, or asks again. It does not wait.
-- KEYS L F Q O
-- ARGV id, stride, shard suffix, period in us, phase in us, tick in us, run, owner, life
--   of the record in ms
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, O = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, asked, suffix = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local every, phase = ARGV[4], ARGV[5]

local holder = redis.pcall('GET', L)
if type(holder) == 'table' then
  -- include part/answer_other_kind.lua
end
-- include part/nearest_tick.lua
local ours = run == ARGV[7] -- it has begun, but nobody has heard of it yet
if holder ~= id and not (ours and ended == '0') and (ours or verdict ~= 'due' or tick ~= tonumber(ARGV[6])) then
  return {'not due', us}
end
local waiting = redis.call('ZCARD', Q)
if holder and holder ~= id then
  return {'held', holder, redis.call('PTTL', L), waiting, us}
end

local now, fence, pushed, base, room
-- include part/read_fence.lua
local function remember(token)
  if not ours then
    redis.call('SET', O, string.format('%.0f.%.0f.0.%.0f.%.0f.%.0f.%s|%s|', token, us, tick, every, phase, ARGV[7], ARGV[8]), 'PX', ARGV[9])
  end
end

if holder or waiting == 0 then
  local size = math.min(asked, room)
  local top = base + size - 1
  local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
  redis.call('SET', L, id, 'PX', ttl)
  -- include part/reserve_tokens.lua
  remember(base)
  return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
end

-- include part/notify.lua
local mine, gone, tolerant = '', '', false
-- include part/survey_queue.lua
-- include part/retry_after_removal.lua
mine = chosen and '' or id
chosen = chosen or id
-- include part/hand_over.lua
if mine == '' then return {'held', chosen, px, left, us, refused} end
remember(base)
return 'granted ' .. token .. ' ' .. size .. ' ' .. left .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. refused
