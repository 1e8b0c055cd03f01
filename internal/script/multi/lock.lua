-- multi_lock: asks for several names, or asks again, and gets all of them or none.
-- KEYS L F Q of each name
-- ARGV id for each name, in the order of KEYS; stride
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local n = #KEYS / 3
local asked = tonumber(ARGV[n + 1])

local ours, waiting, bases, rooms, wanted = {}, {}, {}, {}, false
for i = 1, n do
  local L, F, Q, id = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i]
  local holder = redis.pcall('GET', L)
  if type(holder) == 'table' then
    local is = redis.pcall('HMGET', L, 'kind', 'capacity')
    if is.err or not is[1] then return holder end
    return {'not all', i, 'other kind', is[1], is[2] or 0}
  end
  ours[i], waiting[i] = holder == id, redis.call('ZCARD', Q)
  if holder and not ours[i] then
    return {'not all', i, 'held', holder, redis.call('PTTL', L), waiting[i], us}
  end
  if not holder and waiting[i] > 0 then wanted = true end -- by the living or the dead: a lock of its own finds out
  local now, fence, pushed, base, room
  -- include part/read_fence.lua
  bases[i], rooms[i] = base, room
end
if wanted then return {'not all', 0} end

local answers = {}
for i = 1, n do
  local L, F, id, now = KEYS[3 * i - 2], KEYS[3 * i - 1], ARGV[i], 2 * us
  local size = math.min(asked, rooms[i])
  local top = bases[i] + size - 1
  local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
  if ours[i] then
    redis.call('PEXPIRE', L, string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', L)))) -- a least life is not cut
  else
    redis.call('SET', L, id, 'PX', ttl)
  end
  -- include part/reserve_tokens.lua
  if ours[i] then redis.call('PEXPIRE', F, string.format('%.0f', life + redis.call('PTTL', L))) end -- F outlives a least life
  answers[i] = 'granted ' .. last .. ' ' .. size .. ' ' .. waiting[i] .. ' ' .. t[1] .. ' ' .. t[2]
end
return answers
