-- lock: asks for a name, or asks again.
-- KEYS L F Q
-- ARGV id, stride, then, where they differ from these: 'try' (or 'wait'), kept
--   arrival in us '0', shard suffix ''
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q = KEYS[1], KEYS[2], KEYS[3]
local id, asked = ARGV[1], tonumber(ARGV[2])

local holder = redis.call('GET', L)
local waiting = redis.call('ZCARD', Q)
local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
-- include fence.lua

if holder == id or (not holder and waiting == 0) then
  local size = math.min(asked, room)
  local top = base + size - 1
  if holder then
    redis.call('PEXPIRE', L, ttl)
  else
    redis.call('SET', L, id, 'PX', ttl)
  end
  -- include reserve.lua
  return string.format('granted %s %d %d %s %s', last, size, waiting, t[1], t[2])
end

local mode, kept, suffix = ARGV[3] or 'try', ARGV[4] or '0', ARGV[5] or ''
if holder and mode == 'try' then
  return {'held', holder, redis.call('PTTL', L), waiting, us}
end

-- include handover.lua

if mode == 'try' then
  local dead, chosen, following, more = survey('', '')
  if more and not chosen then
    redis.call('ZREM', Q, unpack(dead))
    return {'again', us}
  end
  if chosen then
    local px, _, left = handover(dead, chosen, following, '', 0)
    return {'held', chosen, px, left, us, refused}
  end
  local _, size, left = handover(dead, id, nil, id, asked)
  return granted(size, left)
end

local score, inserted = redis.call('ZSCORE', Q, id), 0
if not score then
  local newest = redis.call('ZRANGE', Q, -1, -1, 'WITHSCORES')[2]
  inserted = 1
  score = tonumber(kept)
  if score == 0 then score = math.max(us, (tonumber(newest) or 0) + 1) end
end
score = string.format('%.0f', tonumber(score))
local heard = listening(id) and 1 or 0
if not holder then survey('', '') end -- a waiter of another kind is an error before any write

redis.call('PEXPIRE', Q, 1800000) -- first: full memory never refuses it, and then not the ZADD either
redis.call('ZADD', Q, 'NX', score, id)
if waiting == 0 then redis.call('PEXPIRE', Q, 1800000) end

local px
if holder then
  px = redis.call('PTTL', L)
else
  local dead, chosen, following, more = survey(id, '')
  if more and not chosen then
    redis.call('ZREM', Q, unpack(dead))
    return {'again', us}
  end
  local size, left
  px, size, left = handover(dead, chosen, following, id, asked)
  if chosen == id then return granted(size, left) end
  holder = chosen
end

local rank = redis.call('ZRANK', Q, id)
if rank == 0 and parse(holder) then publish(holder, 'recall ' .. holder) end
local can = redis.acl_check_cmd -- Redis 7: who stands behind the head publishes nothing that could be refused
if can and refused == '' and not can(suffix == '' and 'PUBLISH' or 'SPUBLISH', 'holdfast/wake:' .. parse(id) .. suffix, '') then
  refused = 'NOPERM to publish'
end
return {'queued', holder, px, rank, score, us, inserted, heard, refused}
