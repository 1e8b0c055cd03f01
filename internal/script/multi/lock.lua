-- multi_lock: asks for several names, or asks again, and gets all of them or none.
-- KEYS lock fence queue of each name
-- ARGV id for each name, in the order of KEYS
-- answers for each name granted (one line, as lock does); or not all (number of the first name that
--   is not free, or 0 if any has waiters; held or other kind, and what lock answers then)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local n = #KEYS / 3

local ours, waiting, sizes, tops, wanted = {}, {}, {}, {}, false
for i = 1, n do
  local lock, fence, queue, id = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i]
  local holder = redis.pcall('GETRANGE', lock, '0', '{{text_end}}')
  if type(holder) == 'table' then
    local function answer()
      -- include part/answer_other_kind.lua
    end
    local said = answer()
    if said.err then return said end
    return {'not all', i, unpack(said)}
  end
  waiting[i] = 0
  if holder ~= '' or redis.call('EXISTS', lock, queue) > 0 then -- see mutex/lock.lua
    if holder == '' and redis.call('EXISTS', lock) == 0 then holder = false end
    waiting[i] = redis.call('ZCARD', queue)
  else
    holder = false
  end
  ours[i] = holder == id
  if holder and not ours[i] then
    return {'not all', i, 'held', holder, redis.call('PTTL', lock), waiting[i], us}
  end
  if not holder and waiting[i] > 0 then wanted = true end -- living or dead: lock finds out, name by name
  local token_now, newest_token, pushed, base, room, size, top
  -- include part/read_fence.lua
  sizes[i], tops[i] = size, top
end
if wanted then return {'not all', 0} end

local answers = {}
for i = 1, n do
  local lock, fence, id, token_now = KEYS[3 * i - 2], KEYS[3 * i - 1], ARGV[i], {{tokens_per_us}} * us
  local size, top = sizes[i], tops[i]
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
  -- include part/token_memory.lua
  if ours[i] then
    redis.call('PEXPIRE', lock, string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', lock)))) -- a min hold is not cut short
  else
    redis.call('SET', lock, id, 'PX', ttl)
  end
  -- include part/reserve_tokens.lua
  if ours[i] then redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + redis.call('PTTL', lock)))) end -- it outlives a min hold
  answers[i] = 'granted ' .. last .. ' ' .. size .. ' ' .. waiting[i] .. ' ' .. t[1] .. ' ' .. t[2]
end
return answers
