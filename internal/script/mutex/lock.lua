-- lock: asks for a name, or asks again.
-- KEYS lock fence queue
-- ARGV id; then, where they differ from these: 'try' (or 'wait'), the arrival that
--   the id had in us '0', shard suffix ''
-- answers granted (one line: last token, size of the block, waiters, time), held (holder, its
--   remaining ms, waiters, time), queued (see part/answer_queued.lua), other kind, again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]

local holder = redis.pcall('GETRANGE', lock, '0', '{{text_end}}')
if holder ~= '' and type(holder) == 'table' then
  -- include part/answer_other_kind.lua
end
local waiting = 0
if holder ~= '' or redis.call('EXISTS', lock, queue) > 0 then -- most often one call shows that the name is free and not wanted
  if holder == '' and redis.call('EXISTS', lock) == 0 then holder = false end
  waiting = redis.call('ZCARD', queue)
else
  holder = false
end
local token_now, newest_token, pushed, base, room, size, top
if not holder or holder == id then
  -- include part/read_fence.lua
end

if holder == id or (not holder and waiting == 0) then
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
  -- include part/token_memory.lua
  if holder then
    redis.call('PEXPIRE', lock, string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', lock)))) -- a min hold is not cut short
  else
    redis.call('SET', lock, id, 'PX', ttl)
  end
  -- include part/reserve_tokens.lua
  if holder then redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + redis.call('PTTL', lock)))) end -- it outlives a min hold
  return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
end

local mode, arrival, suffix = ARGV[2] or 'try', ARGV[3] or '0', ARGV[4] or ''
if holder and (mode == 'try' or string.find(holder, '^v%d+|')) then -- nothing waits behind another version
  return {'held', holder, redis.call('PTTL', lock), waiting, us}
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

local inserted, score, listening
if mode == 'try' then
  dead, chosen, following, more, missed = survey('')
  -- include part/retry_after_removal.lua
  mine = chosen and '' or id
  chosen = chosen or id
else
  -- include part/last_arrival.lua
  score = tonumber(arrival)
  if score == 0 then score = math.max(us, last_arrival + 1) end
  score = string.format('%.0f', score)
  listening = listeners({}, id)[2] > 0 and '1' or '0'
  if not holder then survey('') end -- a waiter of another kind is an error before any write

  redis.call('PEXPIRE', queue, '{{queue_ttl_ms}}') -- first: full memory never refuses this, nor then the ZADD
  inserted = redis.call('ZADD', queue, 'NX', score, id)
  if waiting == 0 then redis.call('PEXPIRE', queue, '{{queue_ttl_ms}}') end
  if inserted == 0 then score = string.format('%.0f', tonumber(redis.call('ZSCORE', queue, id))) end
  waiting = waiting + inserted

  if not holder then
    dead, chosen, following, more, missed = survey(id)
    -- include part/retry_after_removal.lua
    mine = id
  end
end

local remaining
if holder then
  remaining = math.min(redis.call('PTTL', lock), {{longest_pttl_ms}}) -- 126 years are enough
else
  -- include part/hand_over.lua
  if chosen == mine then return 'granted ' .. token .. ' ' .. size .. ' ' .. left .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. refused end
  if mode == 'try' then return {'held', chosen, px, left, us, refused} end
  holder, remaining = chosen, px
end

local px, rank, poll = remaining, waiting - 1, '0' -- the tail
if inserted == 0 or arrival ~= '0' or chosen then rank = redis.call('ZRANK', queue, id) or 0 end
if chosen then poll = '1' end -- no id in front does
if rank == 0 and channel(holder) then publish(holder, 'recall ') end
local can = redis.acl_check_cmd -- Redis 7: a waiter behind the head publishes nothing that could be refused
if can and refused == '' and not can(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), '') then
  refused = 'NOPERM to publish'
end
-- include part/answer_queued.lua
