-- unlock: ends a tenure, hands the name over, and may queue a fresh id of the
-- same process.
-- KEYS L F Q
-- ARGV id, then, where they differ from these: shard suffix '', fresh id '',
--   stride for the fresh id
local L, F, Q = KEYS[1], KEYS[2], KEYS[3]
local id, suffix, fresh = ARGV[1], ARGV[2] or '', ARGV[3] or ''

local holder = redis.call('GET', L)
local waiting = redis.call('ZCARD', Q)
if holder == id and waiting == 0 and fresh == '' then
  redis.call('DEL', L)
  return 'released'
end
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local asked = tonumber(ARGV[4])
if holder and holder ~= id or not holder and waiting == 0 then
  return {'not held', holder or '', us}
end

local now, fence, base, room
-- include fence.lua
-- include wake.lua
-- include handover.lua

if not holder then -- expired: nothing to release, but the line must move
  local dead, chosen, following, more = survey('', '', true)
  if more and not chosen then
    remove(dead)
    return {'again', us}
  end
  handover(dead, chosen, following, '', 0)
  return {'not held', '', us, refused}
end

local dead, chosen, following, more = survey(fresh, '', true)
local score, heard
if fresh ~= '' then
  local newest = redis.call('ZRANGE', Q, '-1', '-1', 'WITHSCORES')[2]
  score = string.format('%.0f', math.max(us, (tonumber(newest) or 0) + 1))
  heard = listeners({fresh})(1) and 1 or 0
end

if more and not chosen then
  remove(dead)
  return {'again', us}
end
if fresh ~= '' and chosen and chosen ~= fresh then
  redis.call('PEXPIRE', L, '2000') -- first: full memory never refuses it, and then nothing that follows
  redis.call('ZADD', Q, 'NX', score, fresh)
  redis.call('PEXPIRE', Q, '1800000')
end
if fresh ~= '' and not chosen then chosen = fresh end
local px, size, left, last = handover(dead, chosen, following, fresh, asked)
if fresh == '' then return {'released', refused} end
if chosen == fresh then return granted(size, left, last) end
return {'queued', chosen, px, redis.call('ZRANK', Q, fresh), score, us, 1, heard, refused}
