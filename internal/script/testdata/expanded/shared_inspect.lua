-- shared_inspect, SHA 14b404f5ccd74737fe12232f0818dec7297f0939, of the text behind the empty line

-- shared_inspect: reads the state of a name of a shared kind. Writes nothing.
-- KEYS lock fence queue holders
-- ARGV most holders and waiters to list, shard suffix
-- answers shared (time, kind, capacity, used, last token, holders, waiters, listed holders; then of
--   each holder: id, remaining ms, weight; then of each waiter: id, arrival, listeners), other kind
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local most, suffix = tonumber(ARGV[1]), ARGV[2]
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
for _, field in ipairs({'kind', 'capacity', 'head', 'asked'}) do
  if redis.call('HSTRLEN', lock, field) > 1023 then return redis.error_reply('WRONGTYPE ' .. lock .. ' is a hash of another program') end
end
local kind = redis.call('HMGET', lock, 'kind')[1] or ''
do
  local key, count, samples = holders, redis.call('ZCARD', holders), 100000
-- refuse_huge: ends the script if the members of a key are far longer than ours. Redis has no command
-- that reads a part of a member, and a copy of 490 MB stops the server for seconds. If the server refuses
-- MEMORY USAGE, the script goes on. Straight code.
-- needs: key; count: the number of its members; samples: how many of the first members count, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > 1048576 + 1024 * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
end
do
  local key, count, samples = queue, redis.call('ZCARD', queue), most
-- refuse_huge: ends the script if the members of a key are far longer than ours. Redis has no command
-- that reads a part of a member, and a copy of 490 MB stops the server for seconds. If the server refuses
-- MEMORY USAGE, the script goes on. Straight code.
-- needs: key; count: the number of its members; samples: how many of the first members count, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > 1048576 + 1024 * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
end
-- shared_read_state: reads which ids hold a shared lock. Writes nothing. Straight code.
-- needs: lock, holders, us, kind, and shared_ids.lua
-- gives: seen, what the lock key says: kind, capacity, head, when the head last asked, or became head; other, the kind
--   if it is another; foreign, the lock key's value if another program set it; light and heavy, how
--   many hold; below, how many stand in the holders key before the heavy ones that hold
local seen, other, foreign = redis.pcall('HMGET', lock, 'kind', 'capacity', 'head', 'asked'), nil, nil
if seen.err then
  if not string.find(seen.err, 'WRONGTYPE', 1, true) then return seen end
  local value = redis.call('GETRANGE', lock, '0', '1023')
  if string.find(value, '^[%w_-]+%.[%w_-]+%.%d+|') or string.find(value, '^cooldown|') then
    other = 'mutex'
  else
    foreign = value
  end
  seen = {}
elseif not seen[1] and redis.call('PTTL', lock) ~= -2 then
  return redis.error_reply('WRONGTYPE ' .. lock .. ' is a hash of another program')
elseif seen[1] and seen[1] ~= kind then
  other = seen[1]
end
for i = 1, 4 do
  if seen[i] and #seen[i] > 1023 then return redis.error_reply('WRONGTYPE ' .. lock .. ' is a hash of another program') end
end
-- An id whose time is over by the clock holds no more, removed or not.
local light = redis.call('ZCOUNT', holders, string.format('(%.0f', us + LIGHT), '+inf')
local heavy = redis.call('ZCOUNT', holders, string.format('(%.0f', us), string.format('(%.0f', LIGHT))
local below = heavy > 0 and redis.call('ZCOUNT', holders, '-inf', string.format('%.0f', us)) or 0
if light + heavy > 0 and not seen[1] and not foreign then
  local at = light > 0 and -1 or below
  local one = redis.call('ZRANGE', holders, at, at)[1]
  if kind_of(one) ~= kind then other = kind_of(one) end
end
-- shared_count_used: adds up the parts of all holders. Writes nothing. It ends the script if more
-- than 100,000 hold several permits: reading them takes too long. Straight code.
-- needs: holders, and shared_read_state.lua
-- gives: used; weights, by id, of those that have reduced it to more than 1
local used = light
local weights = {}
if heavy > 100000 then return redis.error_reply('HOLDFAST ' .. holders .. ' has too many holders') end
if heavy > 0 then
  local ids, match = redis.call('ZRANGE', holders, below, below + heavy - 1), string.match
  local found = below > 0 and redis.call('ZRANGEBYSCORE', holders, '-inf', '(0', 'WITHSCORES', 'LIMIT', '0', '100000') or {}
  for i = 1, #found, 2 do weights[match(found[i], '^weight|(.*)') or ''] = -tonumber(found[i + 1]) end
  for i = 1, #ids do used = used + (weights[ids[i]] or match(ids[i], '^[^.|]+%.[^.|]+%.%d+%.%a(%d+)|') or 1) end
end
local function some(from, n) return n > 0 and redis.call('ZRANGE', holders, from, from + math.min(n, most) - 1, 'WITHSCORES') or {} end
local a, b, i, j = some(below, heavy), some(-light, light), 1, 1
local listed = math.min(light + heavy, most)
local answer = {'shared', us, kind, seen[2] or 0, used, string.match(redis.call('GETRANGE', fence, '0', '1023'), '^[^ ]*'), light + heavy, redis.call('ZCARD', queue), listed}
for _ = 1, listed do -- by the end of their time, light or heavy
  local one
  if not b[j] or a[i] and expiry_of(a[i + 1]) < expiry_of(b[j + 1]) then
    one, i = {a[i], a[i + 1]}, i + 2
  else
    one, j = {b[j], b[j + 1]}, j + 2
  end
  answer[#answer + 1] = string.sub(one[1], 1, 1024)
  answer[#answer + 1] = math.min(math.ceil((expiry_of(one[2]) - us) / 1000), 4000000000000)
  answer[#answer + 1] = tonumber(one[2]) >= LIGHT and 1 or weights[one[1]] or weight_of(one[1]) or 1
end
local waiters = redis.call('ZRANGE', queue, 0, most - 1, 'WITHSCORES')
for i = 1, #waiters, 2 do
  local client = string.match(string.sub(waiters[i], 1, 1023), '^([%w_-]+)%.')
  answer[#answer + 1] = string.sub(waiters[i], 1, 1024)
  answer[#answer + 1] = waiters[i + 1]
  answer[#answer + 1] = client and redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB',
    'holdfast/push:' .. client .. suffix)[2] or 0
end
return answer
