-- lock: asks for a name, or asks again.
-- KEYS L F Q
-- ARGV id, stride, then, where they differ from these: 'try' (or 'wait'), kept
--   arrival in us '0', shard suffix ''
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q = KEYS[1], KEYS[2], KEYS[3]
local id, asked = ARGV[1], tonumber(ARGV[2])

local holder = redis.pcall('GET', L)
if type(holder) == 'table' then
  -- include part/answer_other_kind.lua
end
local waiting = redis.call('ZCARD', Q)
local now, fence, pushed, base, room
if not holder or holder == id then
  -- include part/read_fence.lua
end

if holder == id or (not holder and waiting == 0) then
  local size = math.min(asked, room)
  local top = base + size - 1
  local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
  if holder then
    redis.call('PEXPIRE', L, string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', L)))) -- a least life is not cut
  else
    redis.call('SET', L, id, 'PX', ttl)
  end
  -- include part/reserve_tokens.lua
  if holder then redis.call('PEXPIRE', F, string.format('%.0f', life + redis.call('PTTL', L))) end -- F outlives a least life
  return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
end

local mode, kept, suffix = ARGV[3] or 'try', ARGV[4] or '0', ARGV[5] or ''
if holder and mode == 'try' then
  return {'held', holder, redis.call('PTTL', L), waiting, us}
end

-- include part/notify.lua

local dead, chosen, following, more, missed, mine
local survey
if not holder then
  survey = function(mine)
    local gone, tolerant = '', false
    -- include part/survey_queue.lua
    return dead, chosen, following, more, missed
  end
end

local inserted, score, heard
if mode == 'try' then
  dead, chosen, following, more, missed = survey('')
  -- include part/retry_after_removal.lua
  mine = chosen and '' or id
  chosen = chosen or id
else
  -- include part/last_arrival.lua
  score = tonumber(kept)
  if score == 0 then score = math.max(us, newest + 1) end
  score = string.format('%.0f', score)
  heard = listeners({}, id)[2] > 0 and '1' or '0'
  if not holder then survey('') end -- a waiter of another kind is an error before any write

  redis.call('PEXPIRE', Q, '1800000') -- first: full memory never refuses it, and then not the ZADD either
  inserted = redis.call('ZADD', Q, 'NX', score, id)
  if waiting == 0 then redis.call('PEXPIRE', Q, '1800000') end
  if inserted == 0 then score = string.format('%.0f', tonumber(redis.call('ZSCORE', Q, id))) end
  waiting = waiting + inserted

  if not holder then
    dead, chosen, following, more, missed = survey(id)
    -- include part/retry_after_removal.lua
    mine = id
  end
end

local life
if holder then
  life = math.min(redis.call('PTTL', L), 4000000000000) -- 126 years are enough
else
  -- include part/hand_over.lua
  if chosen == mine then return 'granted ' .. token .. ' ' .. size .. ' ' .. left .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. refused end
  if mode == 'try' then return {'held', chosen, px, left, us, refused} end
  holder, life = chosen, px
end

local px, rank, look = life, waiting - 1, '0' -- the tail
if inserted == 0 or kept ~= '0' or chosen then rank = redis.call('ZRANK', Q, id) or 0 end
if chosen then look = '1' end -- nobody in front did
if rank == 0 and channel(holder) then publish(holder, 'recall ') end
local can = redis.acl_check_cmd -- Redis 7: who stands behind the head publishes nothing that could be refused
if can and refused == '' and not can(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), '') then
  refused = 'NOPERM to publish'
end
-- include part/answer_queued.lua
