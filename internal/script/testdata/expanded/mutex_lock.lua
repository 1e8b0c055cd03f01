-- lock, SHA 23e682a80e0689229b0e2c1bb5a23ea856a1b881, of the text behind the empty line

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

local holder = redis.pcall('GETRANGE', lock, '0', '1023')
if holder ~= '' and type(holder) == 'table' then
-- answer_other_kind: ends the script of a mutex whose lock key is no string: with the kind that it is, or
-- with the error that said so.
-- needs: lock, holder
local kind, capacity = redis.pcall('HSTRLEN', lock, 'kind'), redis.pcall('HSTRLEN', lock, 'capacity')
if type(kind) == 'table' or type(capacity) == 'table' or math.max(kind, capacity) > 1023 then return holder end
local is = redis.pcall('HMGET', lock, 'kind', 'capacity')
if is.err or not is[1] then return holder end
return {'other kind', is[1], is[2] or 0}
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
-- read_fence: reads the fence key and finds where the next token block would begin. Straight
-- code, no function: it stands on the uncontended path.
-- needs: lock, fence, us, and these declared, which it sets
-- gives: token_now, the clock in tokens; newest_token; pushed, the fence key's value if it ends with the
--   client that the newest grant was pushed to, else nil; base, the first token of a block; room, how
--   many it may have; size and top, the tokens in the block of a grant and the last of them
token_now = 2 * us
local mark = redis.call('GETRANGE', fence, '0', '1023')
if mark == '' then mark = '0' end
newest_token = tonumber(mark)
if not newest_token then
  pushed, newest_token = mark, tonumber(string.match(mark, '^(%d+) [%w_-]+$') or '')
end
if not newest_token or newest_token >= 9007199254740992 - 1 or not pushed and not string.find(mark, '^%d+$') then -- the last there is
  local stored = mark
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
  return redis.error_reply('HOLDFAST the fence key ' .. fence .. ' holds no token')
end
base = math.max(newest_token + 1, token_now)
room = math.max(1, token_now + 2000000 - base + 1) -- never more than 1 s ahead
size = math.min(64, room)
top = base + size - 1
end

if holder == id or (not holder and waiting == 0) then
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
  if holder then
    redis.call('PEXPIRE', lock, string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', lock)))) -- a min hold is not cut short
  else
    redis.call('SET', lock, id, 'PX', ttl)
  end
-- reserve_tokens: makes top the last reserved token; without a size it only prolongs the fence key.
-- Straight code.
-- needs: fence, token_now, size, top, memory   gives: last, which is top as text, and what fence_ttl.lua gives
local last = '0'
-- fence_ttl: finds how long the fence key lives: a day and a second, and longer by as much as it is
-- ahead of the clock. A Client that remembers tokens for less than a day never shortens what another
-- has set. Straight code.
-- needs: fence, token_now, top, memory of token_memory.lua   gives: fence_ttl, in ms as text; known,
--   how long the key lives already, 0 if it does not matter; fence_px, the longer of both, as text
local fence_ttl, known = '90001000', 0
local fence_px = fence_ttl
if memory then
  known = redis.call('PTTL', fence)
  fence_ttl = string.format('%.0f', memory + math.max(1000, math.ceil((top - token_now) / 2000)))
  fence_px = string.format('%.0f', math.max(known, fence_ttl))
elseif top > token_now + 2000000 then
  fence_ttl = string.format('%.0f', 90000000 + math.ceil((top - token_now) / 2000))
  fence_px = fence_ttl
end
if size > 0 then
  last = string.format('%.0f', top)
  redis.call('SET', fence, last, 'PX', fence_px)
else
  redis.call('PEXPIRE', fence, fence_px)
end
  if holder then redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + redis.call('PTTL', lock)))) end -- it outlives a min hold
  return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2]
end

local mode, arrival, suffix = ARGV[2] or 'try', ARGV[3] or '0', ARGV[4] or ''
if holder and (mode == 'try' or string.find(holder, '^v%d+|')) then -- nothing waits behind another version
  return {'held', holder, redis.call('PTTL', lock), waiting, us}
end

-- notify: finds which clients listen, and notifies them. Functions, so it is included behind
-- the uncontended path.
-- needs: lock, suffix   gives: refused, channel, listeners, lives, publish

local refused = '' -- what the server said when it refused to publish

-- channel is the channel of an id's client, or nil if the value is not the id of a
-- mutex tenure: it has another form, is too long, or has a ttl of 0 or of more
-- than 9 digits, which the scripts cannot use.
local channels = {}
local function channel(id)
  if not channels[id] and #id <= 1023 then
    local client, ttl = string.match(id, '^([%w_-]+)%.[%w_-]+%.([1-9]%d*)|')
    channels[id] = client and #ttl <= 9 and 'holdfast/push:' .. client .. suffix
  end
  return channels[id]
end

-- listeners asks about many ids at once, and about one more if that is not ''. The
-- number of listeners of the id at i stands at 2 i.
local function listeners(ids, more)
  local names = {}
  for i, id in ipairs(ids) do
    names[i] = channel(id) or 'holdfast/push:' .. (string.match(string.sub(id, 1, 1023), '^([%w_-]+)%.[%w_-]+%.%d+%.%a%d+|') or '') .. suffix
  end
  if more ~= '' then names[#names + 1] = channel(more) end
  return redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB', unpack(names))
end

-- lives reports whether a waiter with count listeners can get the name. A waiter of
-- another kind cannot: if it lives, that is an error, unless tolerant is set, as in a
-- release. Then it counts as dead. A waiter of another version is always an error.
local function lives(id, count, tolerant)
  if channel(id) then return count > 0 end
  local long = #id > 1023
  id = string.sub(id, 1, 1023)
  local version = string.match(id, '^v(%d+)|')
  if version then error('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock, 0) end
  if long or string.find(id, '^[%w_-]+%.[%w_-]+%.%d+|') then return false end -- another program's: see channel
  local letter = string.match(id, '%.(%a)%d+|')
  if not tolerant and (count > 0 or not letter) then
    error('HOLDFAST ' .. lock .. ' is waited for as ' .. (letter == 's' and 'a semaphore' or letter and 'an rwmutex'
      or 'another kind of lock') .. ', not as a mutex', 0)
  end
  return false
end

-- publish returns the number of listeners.
local function publish(id, message)
  local sent = redis.pcall(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), message .. id)
  if type(sent) == 'number' then return sent end
  if type(sent) == 'table' and sent.err then refused = sent.err end
  return 0
end

local dead, chosen, following, more, missed, mine
local survey
if not holder then
  survey = function(mine)
    local gone, tolerant = '', false
-- survey_queue: reads the queue from its head and writes nothing. Straight code.
-- needs: queue, holder (false: none), pushed (see part/read_fence.lua), id (of the client that asks), mine
--   (an id that needs no listener, or ''), gone (an id that counts as dead, or ''), tolerant (see
--   part/notify.lua), suffix, and notify.lua
-- gives: dead, those that leave the queue: the dead in front, the id gone if among them, and the missed;
--   chosen, the first that is left; following, the next of another client among some 64, or the next;
--   more, true if it stopped after 500 dead; listening, '1' if mine has a listener, else '0'; missed,
--   ids of the client that let the newest grant expire, or nil
local dead, chosen, following, more = {}, nil, nil, false
local listening, second
local missed, lapsed
if not holder and pushed then
  lapsed = 'holdfast/push:' .. string.match(pushed, '[^ ]*$') .. suffix
  if lapsed == channel(id) then lapsed = nil end -- it lives
end
local ids, from, n = redis.call('ZRANGE', queue, '0', '1'), 2, 2 -- most often these are all it takes
while true do
  local counts = listeners(ids, mine)
  listening = (counts[2 * #ids + 2] or 0) > 0 and '1' or '0'
  for i, id in ipairs(ids) do
    if id ~= gone and (id == mine or lives(id, counts[2 * i], tolerant) and not (lapsed and channels[id] == lapsed)) then
      if not chosen then
        chosen = id
      elseif channels[id] ~= channels[chosen] then
        following = id
      else
        second = second or id
      end
    else
      dead[#dead + 1] = id
      more = #dead == 500
    end
    if following or more then break end
  end
  if following or more or #ids < n or second and n > 2 then break end
  ids = redis.call('ZRANGE', queue, from, from + 64 - 1)
  from, n = from + 64, 64
end
following = following or second
if lapsed then -- once each time that a client is silent: all its ids leave
  local known = {}
  missed = {}
  for _, id in ipairs(dead) do
    known[id] = true
    if channel(id) == lapsed then missed[#missed + 1] = id end
  end
  for at = 0, 10000 - 500, 500 do
    local some = redis.call('ZRANGE', queue, at, at + 500 - 1)
    for _, id in ipairs(some) do
      if channel(id) == lapsed and not known[id] and #missed < 5000 then
        dead[#dead + 1], missed[#missed + 1] = id, id
      end
    end
    if #some < 500 then break end
  end
end
    return dead, chosen, following, more, missed
  end
end

local inserted, score, listening
if mode == 'try' then
  dead, chosen, following, more, missed = survey('')
-- retry_after_removal: where survey_queue stopped before it found a living waiter, removes the dead ones
-- and ends the script with again. The next run finds fewer. Waiters that come to the front are
-- notified now. Straight code, no function.
-- needs: lock, queue, us, dead, chosen, more, missed, and notify.lua
if more and not chosen then
  local waiting = redis.call('ZCARD', queue)
  local gone = redis.call('ZREM', queue, unpack(dead))
  for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
  if waiting > gone then
-- notify_front: notifies those that come among the first 16 of the queue when to ask again. A function.
-- needs: queue, channel and publish of notify.lua or shared_notify.lua

-- notify_front is called after gone ids have left the queue, with the lock key's
-- remaining ms. A waiter far behind polls rarely, and the queue has moved since.
local function notify_front(gone, remaining)
  if gone == 0 or remaining < 0 then return end
  local from, remaining = math.max(0, 16 - gone), math.min(remaining, 2900)
  for i, id in ipairs(redis.call('ZRANGE', queue, from, 16 - 1)) do
    local to = channel(id)
    if to and to ~= '' then publish(id, string.format('front %.0f ', remaining + 50 * (from + i - 1))) end
  end
end
    notify_front(gone, math.max(0, redis.call('PTTL', lock)))
  end
  return {'again', us}
end
  mine = chosen and '' or id
  chosen = chosen or id
else
-- last_arrival: finds the last arrival in the queue, or 0. A score that no clock of ours gives (inf,
-- 1e300; 9e15 is the year 2255) was set by another program and does not count: one more than that
-- would be the same, and no order. It ends the script if another version of the protocol waits.
-- Straight code.
-- needs: lock, queue   gives: last_arrival
local stored, last_arrival = unpack(redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES'))
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
last_arrival = tonumber(last_arrival) or 0
if last_arrival >= 9e15 then last_arrival = 0 end
  score = tonumber(arrival)
  if score == 0 then score = math.max(us, last_arrival + 1) end
  score = string.format('%.0f', score)
  listening = listeners({}, id)[2] > 0 and '1' or '0'
  if not holder then survey('') end -- a waiter of another kind is an error before any write

  redis.call('PEXPIRE', queue, '1800000') -- first: full memory never refuses this, nor then the ZADD
  inserted = redis.call('ZADD', queue, 'NX', score, id)
  if waiting == 0 then redis.call('PEXPIRE', queue, '1800000') end
  if inserted == 0 then score = string.format('%.0f', tonumber(redis.call('ZSCORE', queue, id))) end
  waiting = waiting + inserted

  if not holder then
    dead, chosen, following, more, missed = survey(id)
-- retry_after_removal: where survey_queue stopped before it found a living waiter, removes the dead ones
-- and ends the script with again. The next run finds fewer. Waiters that come to the front are
-- notified now. Straight code, no function.
-- needs: lock, queue, us, dead, chosen, more, missed, and notify.lua
if more and not chosen then
  local waiting = redis.call('ZCARD', queue)
  local gone = redis.call('ZREM', queue, unpack(dead))
  for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
  if waiting > gone then
-- notify_front: notifies those that come among the first 16 of the queue when to ask again. A function.
-- needs: queue, channel and publish of notify.lua or shared_notify.lua

-- notify_front is called after gone ids have left the queue, with the lock key's
-- remaining ms. A waiter far behind polls rarely, and the queue has moved since.
local function notify_front(gone, remaining)
  if gone == 0 or remaining < 0 then return end
  local from, remaining = math.max(0, 16 - gone), math.min(remaining, 2900)
  for i, id in ipairs(redis.call('ZRANGE', queue, from, 16 - 1)) do
    local to = channel(id)
    if to and to ~= '' then publish(id, string.format('front %.0f ', remaining + 50 * (from + i - 1))) end
  end
end
    notify_front(gone, math.max(0, redis.call('PTTL', lock)))
  end
  return {'again', us}
end
    mine = id
  end
end

local remaining
if holder then
  remaining = math.min(redis.call('PTTL', lock), 4000000000000) -- 126 years are enough
else
-- hand_over: removes the dead waiters, makes chosen the holder and notifies it, unless it is mine,
-- which gets the answer to its request. Before that it notifies the waiters that come to the front,
-- and the new head. Without a chosen the name is free. Straight code.
-- needs: fence, lock, queue, t, token_now, size, top, waiting (the number of waiters), mine, what
--   survey_queue.lua gives, and notify.lua
-- gives: px, the ms that the lock key lives; token, the last that it reserved; left, how many wait
dead[#dead + 1] = chosen
local px, token, left = '0', '0', 0
if #dead > 0 then -- waiting was counted before: while a slot moves, a script can't read a queue that it has emptied
  local gone = redis.call('ZREM', queue, unpack(dead))
  left = waiting - gone
  if chosen then
    local client, nonce, ttl = string.match(chosen, '^([^.]+)%.([^.]+)%.(%d+)|')
    px = ttl
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
    if chosen ~= mine and tonumber(px) > 2000 then px = '2000' end
    redis.call('SET', lock, chosen, 'PX', px)
-- fence_ttl: finds how long the fence key lives: a day and a second, and longer by as much as it is
-- ahead of the clock. A Client that remembers tokens for less than a day never shortens what another
-- has set. Straight code.
-- needs: fence, token_now, top, memory of token_memory.lua   gives: fence_ttl, in ms as text; known,
--   how long the key lives already, 0 if it does not matter; fence_px, the longer of both, as text
local fence_ttl, known = '90001000', 0
local fence_px = fence_ttl
if memory then
  known = redis.call('PTTL', fence)
  fence_ttl = string.format('%.0f', memory + math.max(1000, math.ceil((top - token_now) / 2000)))
  fence_px = string.format('%.0f', math.max(known, fence_ttl))
elseif top > token_now + 2000000 then
  fence_ttl = string.format('%.0f', 90000000 + math.ceil((top - token_now) / 2000))
  fence_px = fence_ttl
end
    token = string.format('%.0f', top)
    if chosen ~= mine and left > 0 then -- so that the client is known that lets it expire; see part/read_fence.lua
      redis.call('SET', fence, token .. ' ' .. client, 'PX', fence_px)
    else
      redis.call('SET', fence, token, 'PX', fence_px)
    end
    if left > math.max(0, 16 - gone) then
-- notify_front: notifies those that come among the first 16 of the queue when to ask again. A function.
-- needs: queue, channel and publish of notify.lua or shared_notify.lua

-- notify_front is called after gone ids have left the queue, with the lock key's
-- remaining ms. A waiter far behind polls rarely, and the queue has moved since.
local function notify_front(gone, remaining)
  if gone == 0 or remaining < 0 then return end
  local from, remaining = math.max(0, 16 - gone), math.min(remaining, 2900)
  for i, id in ipairs(redis.call('ZRANGE', queue, from, 16 - 1)) do
    local to = channel(id)
    if to and to ~= '' then publish(id, string.format('front %.0f ', remaining + 50 * (from + i - 1))) end
  end
end
      notify_front(gone, tonumber(px))
    end
    for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
    if following and following ~= mine then -- before the grant: Redis writes to clients in the opposite order
      publish(following, 'head ' .. px .. ' ')
    end
    if chosen ~= mine then
      publish(chosen, 'grant ' .. token .. ' ' .. size .. ' ' .. left .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. px .. ' ')
    end
  end
end
if not chosen then
  redis.call('DEL', lock)
  for i = 1, missed and #missed or 0 do publish(missed[i], 'missed ') end
end
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
-- answer_queued: ends the script with the answer to a waiter. It is one line: it comes often. The
-- holder's value may be anything, so its length stands before it. Straight code.
-- needs: holder, px (at most 4e12, or ".." does not write all its digits), rank, score, t, inserted,
--   listening, poll, refused
return 'queued ' .. px .. ' ' .. rank .. ' ' .. score .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. inserted .. ' ' .. listening .. ' '
  .. poll .. ' ' .. #holder .. ' ' .. holder .. refused
