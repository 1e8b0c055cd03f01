-- lock_batch, SHA 48bf10eca47b3e3d2cb624f9421e9a0af4d845ec, of the text behind the empty line

-- lock_batch: does for many names what lock and unlock do for one that nobody else wants.
-- For a name where that is not so it does nothing and answers again: that name needs a
-- script of its own.
-- KEYS lock and fence of each name, then queue of each
-- ARGV for each name: id, and the ttl in ms to lock it, or '' to unlock it; the ids are of one Client
-- answers for each name: granted (one line, as lock does), released, or again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local token_now, n = 2 * us, #KEYS / 3

local waited = redis.call('EXISTS', unpack(KEYS, 2 * n + 1, 3 * n)) > 0

local answers, ended = {}, {}
local of, last, px, granted -- the same for most: their fence is behind the clock
for i = 1, n do
  local lock, fence, id, ttl = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i - 1], ARGV[2 * i]
  answers[i] = 'again'
  if waited and redis.call('EXISTS', KEYS[2 * n + i]) > 0 then -- it has waiters
  elseif ttl == '' then
    if redis.pcall('GETRANGE', lock, '0', '1023') == id then ended[#ended + 1], answers[i] = lock, 'released' end
  else
    local stored = redis.pcall('GETRANGE', fence, '0', '1023')
    local newest_token = stored == '' and 0 or tonumber(stored) -- see part/read_fence.lua
    if not newest_token then -- another type, or pushed
      newest_token = type(stored) == 'string' and tonumber(string.match(stored, '^(%d+) [%w_-]+$') or '')
    elseif not string.find(stored, '^%d*$') then
      newest_token = nil
    end
    if newest_token and newest_token < 9007199254740992 - 1 and redis.call('SET', lock, id, 'PX', ttl, 'NX') then -- NX: KEYS may have it twice
      local base = math.max(newest_token + 1, token_now)
      if base ~= of then
        local size = math.min(64, math.max(1, token_now + 2000000 - base + 1)) -- as in part/read_fence.lua
        local top = base + size - 1
        local nonce = string.match(id, '^[^.]+%.([^.]+)')
-- token_memory: finds how long the Client of an id wants its tokens remembered. An id says so only if
-- that is shorter than by default: then its nonce is longer. Straight code.
-- needs: nonce and ttl of the id   gives: memory, in ms and never shorter than the ttl; false: the default
local memory = nonce and #nonce > 11 and tonumber(string.match(nonce, '^...........m(%d+)$') or '')
if memory then memory = math.max(memory, ttl) end
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
        of, last, px = not memory and base, string.format('%.0f', top), fence_px
        granted = 'granted ' .. last .. ' ' .. size .. ' 0 ' .. t[1] .. ' ' .. t[2]
      end
      redis.call('SET', fence, last, 'PX', px)
      answers[i] = granted
    end
  end
end
if #ended > 0 then redis.call('DEL', unpack(ended)) end -- last: what fails before this can be asked for again
return answers
