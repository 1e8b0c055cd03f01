-- cooldown, SHA 22e605f685aa97743c72fdba2c66e8edc973607b, of the text behind the empty line

-- cooldown: ends a tenure before its min hold is over. No waiter gets the name yet: the
-- lock key holds the cool-down until then.
-- KEYS lock fence queue
-- ARGV id, remaining ms, owner, shard suffix, fresh id or ''
-- answers released, not held (holder, time), again; for a fresh id queued, as lock does
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue = KEYS[1], KEYS[2], KEYS[3]
local id, left, suffix, fresh = ARGV[1], ARGV[2], ARGV[4], ARGV[5]
local value = 'cooldown|' .. ARGV[3]

-- read_holder: reads the holder. A value that is no string is not ours: another kind of lock has the
-- name by now, or another program its key. Straight code.
-- needs: lock; in most scripts ARGV[1] is the id of the holder, and then holder is a string
-- gives: holder: the value of the lock key, or the first 1,024 bytes of a longer one; '' if it is no
--   string, false if there is none
local holder = redis.pcall('GETRANGE', lock, '0', '1023')
if holder ~= ARGV[1] and type(holder) == 'table' then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  holder = ''
elseif holder == '' and redis.call('EXISTS', lock) == 0 then
  holder = false
end
if holder ~= id then
  redis.call('ZREM', queue, id)
  return {'not held', holder or '', us}
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
local mine, gone, tolerant, pushed = fresh, id, true, nil
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
local score = string.format('%.0f', math.max(us, last_arrival + 1))
local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
local fence_ttl = left + (memory and memory + 1000 or 90001000) -- the name is in use while it cools down
local known, last = redis.call('PTTL', fence), string.match(redis.call('GETRANGE', fence, '0', '1023'), '^(%d+) ')

redis.call('PEXPIRE', lock, left) -- first: full memory never refuses this, nor then what follows
redis.call('SET', lock, value, 'PX', left)
if known < fence_ttl then
  redis.call('PEXPIRE', fence, string.format('%.0f', fence_ttl))
end
if last then -- the client claimed what was pushed to it, see part/read_fence.lua
  redis.call('SET', fence, last, 'PX', string.format('%.0f', math.max(known, fence_ttl)))
end
if fresh ~= '' then
  redis.call('ZADD', queue, 'NX', score, fresh)
  redis.call('PEXPIRE', queue, '1800000')
end
if #dead > 0 then redis.call('ZREM', queue, unpack(dead)) end
if chosen then
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
  notify_front(#dead, tonumber(left))
  publish(chosen, 'head ' .. left .. ' ')
end
if fresh == '' then return 'released ' .. refused end
local holder, px, rank, inserted, poll = value, left, redis.call('ZRANK', queue, fresh) or 0, '1', '0'
-- answer_queued: ends the script with the answer to a waiter. It is one line: it comes often. The
-- holder's value may be anything, so its length stands before it. Straight code.
-- needs: holder, px (at most 4e12, or ".." does not write all its digits), rank, score, t, inserted,
--   listening, poll, refused
return 'queued ' .. px .. ' ' .. rank .. ' ' .. score .. ' ' .. t[1] .. ' ' .. t[2] .. ' ' .. inserted .. ' ' .. listening .. ' '
  .. poll .. ' ' .. #holder .. ' ' .. holder .. refused
