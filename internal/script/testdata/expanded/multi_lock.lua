-- multi_lock, SHA 9384867753636c8b7480415bd7edde661223b1fc, of the text behind the empty line

-- multi_lock: asks for several names, or asks again, and gets all of them or none.
-- KEYS lock fence queue of each name
-- ARGV id for each name, in the order of KEYS
-- answers for each name granted (one line, as lock does); or not all (number of the first name that
--   is not free, or 0 if any has waiters; held or other kind, and what lock answers then)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local n = #KEYS / 3

local ours, waiting, sizes, tops, wanted = {}, {}, {}, {}, false
for i = 1, n do
  local lock, fence, queue, id = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i]
  local holder = redis.pcall('GETRANGE', lock, '0', '1023')
  if type(holder) == 'table' then
    local function answer()
-- answer_other_kind: ends the script of a mutex whose lock key is no string: with the kind that it is, or
-- with the error that said so.
-- needs: lock, holder
local kind, capacity = redis.pcall('HSTRLEN', lock, 'kind'), redis.pcall('HSTRLEN', lock, 'capacity')
if type(kind) == 'table' or type(capacity) == 'table' or math.max(kind, capacity) > 1023 then return holder end
local is = redis.pcall('HMGET', lock, 'kind', 'capacity')
if is.err or not is[1] then return holder end
return {'other kind', is[1], is[2] or 0}
    end
    local said = answer()
    if said.err then return said end
    return {'not all', i, unpack(said)}
  end
  waiting[i] = 0
  if holder ~= '' or redis.call('EXISTS', lock, queue) > 0 then -- see mutex/lock.lua
    if holder == '' and redis.call('EXISTS', lock) == 0 then holder = false end
    waiting[i] = redis.call('ZCARD', queue)
  else
    holder = false
  end
  ours[i] = holder == id
  if holder and not ours[i] then
    return {'not all', i, 'held', holder, redis.call('PTTL', lock), waiting[i], us}
  end
  if not holder and waiting[i] > 0 then wanted = true end -- living or dead: lock finds out, name by name
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
  sizes[i], tops[i] = size, top
end
if wanted then return {'not all', 0} end

local answers = {}
for i = 1, n do
  local lock, fence, id, token_now = KEYS[3 * i - 2], KEYS[3 * i - 1], ARGV[i], 2 * us
  local size, top = sizes[i], tops[i]
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)|')
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
  if ours[i] then
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
  if ours[i] then redis.call('PEXPIRE', fence, string.format('%.0f', math.max(known, fence_ttl + redis.call('PTTL', lock)))) end -- it outlives a min hold
  answers[i] = 'granted ' .. last .. ' ' .. size .. ' ' .. waiting[i] .. ' ' .. t[1] .. ' ' .. t[2]
end
return answers
