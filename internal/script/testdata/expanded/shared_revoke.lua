-- shared_revoke, SHA fed4bc7984fdc8dc0269d1d08397e80d29edb7db, of the text behind the empty line

-- shared_revoke: asks one holder to stop. Its next renewal returns it, and a push asks it to renew now.
-- KEYS lock holders, revocation key of id
-- ARGV id, shard suffix, reason
-- answers notified (listeners, what the server said when it refused to publish), not held (holder, time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, holders, revocation = KEYS[1], KEYS[2], KEYS[3]
local id, suffix, reason = ARGV[1], ARGV[2], ARGV[3]
local queue -- part/notify_front.lua names it
-- shared_ids: reads ids of the shared kinds, and their scores in the holders key. Functions.
-- needs: holders
local kinds = {s = 'semaphore', r = 'rwmutex', w = 'rwmutex'}
local function kind_of(id) return kinds[string.match(id, '^[^.|]+%.[^.|]+%.%d+%.(%a)%d+|') or ''] or 'mutex' end
local function weight_of(id) return tonumber(string.match(id, '^[^.|]+%.[^.|]+%.%d+%.%a(%d+)|') or '') end
local function client_of(id) return string.match(id, '^[^.]*') end
local function memory_of(id)
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)%.')
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
  return memory
end
local function ttl_of(id) return tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.') or '') end

-- An id that weighs 1 is light: its score is the end of its time plus LIGHT, that of
-- the others the end alone. So the light are counted and only the others weighed, and
-- no id can be both.
local LIGHT = 4503599627370496 -- 2^52, the year 2112; twice that is still exact
local function score_of(id, expires) return string.format('%.0f', weight_of(id) == 1 and expires + LIGHT or expires) end
local function expiry_of(score) -- the end of a holder's time; 0 if it has none
  score = tonumber(score) or 0
  return score < LIGHT and score or score - LIGHT
end

-- A holder may have reduced its weight. One that weighs 1 now is above LIGHT; for each other
-- one the holders key has a second member, whose score is the weight, below zero.
local function reduced(id)
  local member = 'weight|' .. id
  return member
end
local function held_weight(id, score)
  if tonumber(score) >= LIGHT then return 1 end
  return -tonumber(redis.call('ZSCORE', holders, reduced(id)) or -weight_of(id))
end
local kind = redis.pcall('HSTRLEN', lock, 'kind')
local no_hash = type(kind) == 'table' and kind.err
if no_hash and not string.find(no_hash, 'WRONGTYPE', 1, true) then return kind end
if no_hash or expiry_of(redis.call('ZSCORE', holders, id)) <= us then
  return {'not held', no_hash and redis.call('GETRANGE', lock, '0', '1023') or '', us}
end
-- shared_notify: finds which clients of the shared kinds listen, and notifies them. Functions.
-- needs: lock, suffix, queue, shared_ids.lua   gives: refused, channel, listeners, publish, and notify_front

local refused = '' -- what the server said when it refused to publish

local function channel(id)
  if #id > 1023 then return '' end
  local client, ttl, rest = string.match(id, '^([%w_-]+)%.[%w_-]+%.([1-9]%d*)([.|])')
  if not client or #ttl > 9 or rest == '.' and (weight_of(id) or 0) < 1 then return '' end -- no id, or no script can use it
  local to = 'holdfast/push:' .. client .. suffix
  return to
end

-- listeners asks about many ids at once. The number of listeners of the id at i
-- stands at 2 i. An id of another version of the protocol is an error.
local function listeners(ids)
  local names = {}
  for i, id in ipairs(ids) do
    names[i] = channel(id)
    local version = names[i] == '' and string.match(string.sub(id, 1, 1023), '^v(%d+)|')
    if version then error('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock, 0) end
  end
  return redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB', unpack(names))
end

local function publish(id, message)
  local to = channel(id)
  if to == '' then return 0 end -- no id of ours
  local sent = redis.pcall(suffix == '' and 'PUBLISH' or 'SPUBLISH', to, message .. id)
  if type(sent) ~= 'table' then return sent end
  refused = sent.err
  return 0
end

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
local ttl = ttl_of(id)
redis.call('PEXPIRE', revocation, ttl) -- first: full memory never refuses this, nor then what follows
redis.call('SET', revocation, 'revoked|' .. reason, 'PX', ttl)
return {'notified', publish(id, 'revoked '), refused}
