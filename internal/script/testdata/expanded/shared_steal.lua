-- shared_steal, SHA e94e34a1ae4097ed24f23aad08248327fc22cadd, of the text behind the empty line

-- shared_steal: takes its part from one holder, makes those waiters holders that fit then, and leaves
-- a note for the old holder.
-- KEYS lock fence queue holders, revocation key of id
-- ARGV id, shard suffix, reason
-- answers taken (what the server said when it refused to publish), not held (holder, time), again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders, revocation = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, suffix, word, size_key = ARGV[1], ARGV[2], 'stolen|' .. ARGV[3], nil -- a lock stores the size

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
local kind = kind_of(id)
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
local score = redis.call('ZSCORE', holders, id)
local held = not foreign and not other and expiry_of(score) > us
if not held and redis.call('GETRANGE', revocation, '0', '1023') ~= word then return {'not held', foreign or '', us} end
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
-- shared_survey_queue: finds which waiters come next. Functions; they write nothing.
-- needs: queue, holders, us, kind, seen, light, heavy, shared_ids.lua, shared_notify.lua

-- absent finds the clients that let their time as holders end, or nil: most often that
-- was a grant that nobody claimed. The client live is not among them: it asks now.
local function absent(live)
  if redis.call('ZCARD', holders) == light + heavy then return nil end
  local clients = {}
  for _, from in ipairs({0, LIGHT}) do
    local expired = redis.call('ZRANGEBYSCORE', holders, string.format('%.0f', from), string.format('%.0f', from + us), 'LIMIT', '0', '500')
    for i = 1, #expired do clients[client_of(expired[i])] = true end
  end
  clients[live] = nil
  return next(clients) and clients
end

-- survey reads the queue from its head. Ids that fit are granted, up to 100; the
-- first that does not fit ends it, so that none overtakes. The id mine needs no
-- listener, the id gone counts as dead. What it returns:
--   grants: ids that become holders   used: with them   mine: it is among them
--   drop: ids that leave the queue otherwise: the dead, the missed, and those that can't fit any more
--   never: these last                 first: the head that is left
--   missed: ids of clients that are absent, or were silent at the head
--   more: it stopped at 500 to drop, or 100 grants
--   other: a living waiter is of this other kind
local function survey(mine, gone, used, capacity)
  local live = client_of(mine ~= '' and mine or gone)
  local plan = {grants = {}, drop = {}, never = {}, missed = {}, used = used}
  local silent = absent(live)
  local ids, from, n = redis.call('ZRANGE', queue, '0', '1'), 2, 2
  while not plan.first and not plan.more do
    local counts = listeners(ids)
    for i, id in ipairs(ids) do
      local weight = weight_of(id)
      if id == gone or id ~= mine and counts[2 * i] == 0 then
        plan.drop[#plan.drop + 1] = id
      elseif kind_of(id) ~= kind then
        plan.other = kind_of(id)
        return plan
      elseif silent and silent[client_of(id)] then
        plan.drop[#plan.drop + 1], plan.missed[#plan.missed + 1] = id, id
      elseif weight > capacity then -- the size was changed: it asks again, and learns it
        plan.drop[#plan.drop + 1], plan.never[#plan.never + 1] = id, id
      elseif plan.used + weight <= capacity and #plan.grants < 100 then
        plan.used = plan.used + weight
        plan.grants[#plan.grants + 1] = id
        if id == mine then plan.mine = true end
      elseif id ~= mine and id == seen[3] and us - seen[4] > 2000000 and plan.used + weight > capacity then
        plan.drop[#plan.drop + 1], plan.missed[#plan.missed + 1] = id, id
        silent = silent or {}
        if client_of(id) ~= live then silent[client_of(id)] = true end
      else
        plan.first, plan.more = id, plan.used + weight <= capacity
        break
      end
      if #plan.drop == 500 then
        plan.more = true
        break
      end
    end
    if #ids < n then break end
    ids = redis.call('ZRANGE', queue, from, from + 64 - 1)
    from, n = from + 64, 64
  end
  if silent and next(silent) then -- once each time that a client is silent: all its ids leave
    local known = {}
    for _, list in ipairs({plan.drop, plan.grants}) do
      for _, id in ipairs(list) do known[id] = true end
    end
    for at = 0, 10000 - 500, 500 do
      ids = redis.call('ZRANGE', queue, at, at + 500 - 1)
      for _, id in ipairs(ids) do
        if silent[client_of(id)] and not known[id] and #plan.missed < 5000 then
          plan.drop[#plan.drop + 1], plan.missed[#plan.missed + 1] = id, id
        end
      end
      if #ids < 500 then break end
    end
  end
  return plan
end
-- shared_expiries: finds when the holders' time ends. A function; it writes nothing.
-- needs: holders, us, and shared_read_state.lua

-- expiries finds, among the holders without the id leaving, the one whose time ends
-- first, when that is, and when the last one's ends; nil, nil, 0 if there are none. It
-- reads two at each end, because one of them may be leaving.
local function expiries(leaving)
  local first, soonest, latest = nil, nil, 0
  local function edges(from, n)
    local edge = redis.call('ZRANGE', holders, from, from + math.min(n, 2) - 1, 'WITHSCORES')
    if n > 2 then
      for _, v in ipairs(redis.call('ZRANGE', holders, from + math.max(n - 2, 2), from + n - 1, 'WITHSCORES')) do edge[#edge + 1] = v end
    end
    for i = 1, #edge, 2 do
      local expires = math.min(expiry_of(edge[i + 1]), us + 1000 * 4000000000000) -- another program sets any score, also inf
      if edge[i] ~= leaving then
        if expires > latest then latest = expires end
        if not soonest or expires < soonest then first, soonest = edge[i], expires end
      end
    end
  end
  if heavy > 0 then edges(below, heavy) end
  if light > 0 then edges(-light, light) end
  return first, soonest, latest
end
-- shared_hand_over: makes the waiters that survey has found holders. A function.
-- needs: lock, fence, queue, holders, size_key (or nil), t, us, kind, seen, token_now, base,
--   shared_ids.lua, shared_read_state.lua, shared_notify.lua, and shared_expiries.lua

-- hand_over does what plan says, notifies the new holders except mine, which gets
-- the answer to its request, and then the new head. The id leaving holds no more.
-- It returns the token of mine or nil, the holder whose time ends first, in how
-- many ms that is, and when the head last asked, or became head.
local function hand_over(plan, mine, leaving, capacity)
  local first, soonest, latest = expiries(leaving)
  local ttls, ended, memory = {}, redis.call('ZCARD', holders) - light - heavy, 0
  for i, id in ipairs(plan.grants) do
    ttls[i] = ttl_of(id)
    local one = memory and memory_of(id)
    memory = one and math.max(memory, one) -- the longest; false: one has the default
    if id ~= mine and ttls[i] > 2000 then ttls[i] = 2000 end
    local expires = us + 1000 * ttls[i]
    if expires > latest then latest = expires end
    if not soonest or expires < soonest then first, soonest = id, expires end
  end

  if not first then -- no holders
    if plan.more and seen[1] then -- the next run still needs the capacity
      redis.call('PEXPIRE', lock, '2000')
      redis.call('UNLINK', holders) -- the expired may be many: not DEL, which waits until all are freed
    else
      redis.call('UNLINK', lock, holders)
    end
  else
    local px = math.ceil((latest - us) / 1000)
    if not seen[1] then redis.call('HSET', lock, 'kind', kind, 'capacity', string.format('%.0f', capacity)) end
    redis.call('PEXPIRE', lock, string.format('%.0f', px)) -- first: full memory never refuses this, nor then what follows
    for i, id in ipairs(plan.grants) do redis.call('ZADD', holders, score_of(id, us + 1000 * ttls[i]), id) end
    -- Only now: while a slot moves, a key that was emptied can't be filled.
    if leaving ~= '' then redis.call('ZREM', holders, leaving, reduced(leaving)) end
    if ended > 0 then
-- shared_remove_expired: removes holders whose time has ended, at most 500 of the light ones and 500 of
-- the others: there may be thousands. Straight code.
-- needs: holders, us, and shared_ids.lua
local expired = redis.call('ZCOUNT', holders, '0', string.format('%.0f', us))
if expired > 0 then
  local from = redis.call('ZCOUNT', holders, '-inf', '(0')
  local last = from + math.min(expired, 500) - 1
  local ids = from > 0 and redis.call('ZRANGE', holders, from, last) or {}
  redis.call('ZREMRANGEBYRANK', holders, from, last)
  for i = 1, #ids do redis.call('ZREM', holders, reduced(ids[i])) end
end
local light_expired = redis.call('ZCOUNT', holders, string.format('%.0f', LIGHT), string.format('%.0f', us + LIGHT))
if light_expired > 0 then
  local at = redis.call('ZCOUNT', holders, '-inf', string.format('(%.0f', LIGHT))
  redis.call('ZREMRANGEBYRANK', holders, at, at + math.min(light_expired, 500) - 1)
end
    end
    if plan.first or plan.more then px = px + 30000 end -- waiters find in it the clients that let a grant expire
    redis.call('PEXPIRE', holders, string.format('%.0f', px))
    if #plan.grants > 0 then
      local size, top = #plan.grants, base + #plan.grants - 1
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
    end
  end
  local asked = tonumber(seen[4] or 0)
  if first and plan.first and (plan.first == mine or plan.first ~= seen[3]) then
    asked = us
    redis.call('HSET', lock, 'head', plan.first, 'asked', string.format('%.0f', us), 'kind', kind, 'capacity', string.format('%.0f', capacity))
    -- Again: if the clock steps back within a script, the lock key may have expired and been created again.
    redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((latest - us) / 1000)))
  end
  local out = plan.drop
  for _, id in ipairs(plan.grants) do out[#out + 1] = id end
  local waiting = plan.more and not plan.first and redis.call('ZCARD', queue) or 0
  local gone = #out > 0 and redis.call('ZREM', queue, unpack(out)) or 0

-- shared_keep_size: keeps the size of a semaphore, so that it outlives the holders: for 30 days from each use
-- if shared_resize has set it; else as long as the token. Such a size begins with 0.
-- Straight code, behind a write that full memory does refuse, if the lock key is new.
-- needs: size_key (or nil), capacity, size_text (what the key holds; nil: it was not read), mine, memory_of
if size_key then
  local text, size_ttl = size_text or redis.call('GETRANGE', size_key, '0', '1023'), '2592000000'
  if string.find(text, '^0') or text == '' then
    local memory = mine ~= '' and memory_of(mine)
    size_ttl = memory and string.format('%.0f', math.max(redis.call('PTTL', size_key), memory + 1000)) or '90001000'
  end
  if redis.call('PEXPIRE', size_key, size_ttl) == 0 then
    redis.call('SET', size_key, string.format('0%.0f', capacity), 'PX', size_ttl)
  end
end
  local token
  local left = first and math.max(0, math.ceil((soonest - us) / 1000)) or 0
  if plan.first or waiting > gone then notify_front(gone, math.min(left, 2000)) end
  for i, id in ipairs(plan.grants) do
    local mark = string.format('%.0f', base + i - 1)
    if id == mine then
      token = mark
    else
      publish(id, string.format('grant %s 1 0 %s %s %d ', mark, t[1], t[2], ttls[i]))
    end
  end
  for _, id in ipairs(plan.missed) do publish(id, 'missed ') end
  for _, id in ipairs(plan.never) do
    if id ~= mine then publish(id, 'head 0 ') end
  end
  if plan.first and plan.first ~= mine and plan.first ~= seen[3] then
    publish(plan.first, string.format('head %d ', plan.more and 0 or math.min(left, 667)))
  end
  return token, first, left, asked
end

local plan
if seen[1] and not other then
  local capacity = tonumber(seen[2])
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
  if held then used = used - held_weight(id, score) end
  plan = survey('', '', used, capacity)
  if plan.other then plan = {grants = {}, drop = {}, never = {}, missed = {}} end
end
if held then
  local ttl = ttl_of(id)
  redis.call('PEXPIRE', revocation, ttl) -- first: full memory never refuses this, nor then what follows
  redis.call('SET', revocation, word, 'PX', ttl)
end
if plan then
  hand_over(plan, '', held and id or '', tonumber(seen[2]))
elseif held then
  redis.call('ZREM', holders, id, reduced(id)) -- only the lock key was deleted: the waiters ask by themselves
end
if held then publish(id, 'revoked ') end
if plan and plan.more and not plan.first then return {'again', us} end -- the next run goes on with those behind
return {'taken', refused}
