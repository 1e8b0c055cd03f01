-- unlock: ends a tenure, hands the name over, and may queue a fresh id of the same
-- process.
-- KEYS lock fence queue
-- ARGV id; then, where they differ from these: shard suffix '', fresh id ''
-- answers released, not held (holder, time), again; for a fresh id also granted and queued, as
--   lock does
local lock, fence, queue = KEYS[1], KEYS[2], KEYS[3]
local id, suffix, fresh = ARGV[1], ARGV[2] or '', ARGV[3] or ''

-- include part/read_holder.lua
local waiting = redis.call('ZCARD', queue)
if holder == id and waiting == 0 and fresh == '' then
  redis.call('DEL', lock)
  return 'released'
end
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
if holder and holder ~= id or not holder and waiting == 0 then
  return {'not held', holder or '', us}
end
if not holder then fresh = '' end -- expired: nothing to release, but the queue must move

local token_now, newest_token, pushed, base, room, size, top
-- include part/read_fence.lua
-- include part/notify.lua
local mine, gone, tolerant = fresh, '', true
-- include part/survey_queue.lua
-- include part/retry_after_removal.lua

local score, inserted
if fresh ~= '' then
  -- include part/last_arrival.lua
  score = string.format('%.0f', math.max(us, last_arrival + 1))
  if chosen and chosen ~= fresh then
    redis.call('PEXPIRE', queue, '{{queue_ttl_ms}}') -- first: full memory never refuses this, nor then what follows
    inserted = redis.call('ZADD', queue, 'NX', score, fresh)
    waiting = waiting + inserted
  end
  chosen = chosen or fresh
end
-- include part/hand_over.lua
if not holder then return {'not held', '', us, refused} end
if fresh == '' then return 'released ' .. refused end
if chosen == fresh then return 'granted ' .. token .. ' ' .. size .. ' ' .. left .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. refused end
local holder, rank, poll = chosen, left - 1, '0' -- the tail
if inserted == 0 then rank = redis.call('ZRANK', queue, fresh) end -- a late run: nobody reads its answer
-- include part/answer_queued.lua
