-- take, SHA 38ffaace30df4fb794e0b8df4c20e80a579aac2b, of the text behind the empty line

-- take: takes the name from its holder for the id that asks, and leaves a note for the
-- old holder. Waiters keep their places.
-- KEYS lock fence queue revocation
-- ARGV id, shard suffix, the holder's id, reason
-- answers granted (one line, as lock does), not held (holder, time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, revocation = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mine, suffix, id = ARGV[1], ARGV[2], ARGV[3]

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
if holder ~= mine and holder ~= id then return {'not held', holder or '', us} end
local waiting = redis.call('ZCARD', queue)
local stored = waiting > 0 and redis.call('ZRANGE', queue, '-1', '-1')[1] or nil
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
local token_now, newest_token, pushed, base, room, size, top
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

local nonce, ttl = string.match(mine, '^[^.]+%.([^.]+)%.(%d+)|')
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
local remaining = tonumber(ttl)
if holder == mine then remaining = math.max(remaining, redis.call('PTTL', lock)) end -- a min hold is not cut short
redis.call('PEXPIRE', lock, string.format('%.0f', remaining)) -- first: full memory never refuses this, nor then what follows
if holder ~= mine then
  redis.call('SET', lock, mine, 'PX', ttl)
  redis.call('SET', revocation, 'stolen ' .. id .. '|' .. ARGV[4], 'PX', string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
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
if holder == mine then
  redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + redis.call('PTTL', lock)))) -- it outlives a min hold
else
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
  notify_front(16, tonumber(ttl)) -- the new ttl may be shorter than the one they know
  publish(id, 'revoked ')
end
return 'granted ' .. last .. ' ' .. size .. ' ' .. waiting .. ' ' .. t[1] .. ' ' .. t[2] .. (refused ~= '' and ' ' .. refused or '')
