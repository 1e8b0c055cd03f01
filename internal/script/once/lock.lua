-- once_lock: takes a name for one tick of a schedule and notes that its run has begun, in one
-- step, or asks again. It does not wait.
-- KEYS lock fence queue once
-- ARGV id, shard suffix, period in us, phase in us, tick in us, run, owner, ttl of the record in ms
-- answers granted (one line, as lock does), held (holder, its remaining ms, waiters, time), not due
--   (time), other kind, again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, once = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, suffix, every, phase = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local holder = redis.pcall('GETRANGE', lock, '0', '{{text_end}}')
if type(holder) == 'table' then
  -- include part/answer_other_kind.lua
end
if holder == '' and redis.call('EXISTS', lock) == 0 then holder = false end
-- include part/nearest_tick.lua
local ours = run == ARGV[6] -- it has begun, but its answer was lost
if holder ~= id and not (ours and ended == '0') and (ours or verdict ~= 'due' or tick ~= tonumber(ARGV[5])) then
  return {'not due', us}
end
local waiting = redis.call('ZCARD', queue)
if holder and holder ~= id then
  return {'held', holder, redis.call('PTTL', lock), waiting, us}
end

local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
local function remember(token)
  if not ours then
    redis.call('SET', once, string.format('%.0f.%.0f.0.%.0f.%.0f.%.0f.%s|%s|', token, us, tick, every, phase, ARGV[6], ARGV[7]), 'PX', ARGV[8])
  end
end

if holder or waiting == 0 then
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
  -- include part/token_memory.lua
  redis.call('SET', lock, id, 'PX', ttl)
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
