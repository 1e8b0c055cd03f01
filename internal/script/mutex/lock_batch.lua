-- lock_batch: does for many names what lock and unlock do for one that nobody else wants.
-- For a name where that is not so it does nothing and answers again: that name needs a
-- script of its own.
-- KEYS lock and fence of each name, then queue of each
-- ARGV for each name: id, and the ttl in ms to lock it, or '' to unlock it; the ids are of one Client
-- answers for each name: granted (one line, as lock does), released, or again
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local token_now, n = {{tokens_per_us}} * us, #KEYS / 3

local waited = redis.call('EXISTS', unpack(KEYS, 2 * n + 1, 3 * n)) > 0

local answers, ended = {}, {}
local of, last, px, granted -- the same for most: their fence is behind the clock
for i = 1, n do
  local lock, fence, id, ttl = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i - 1], ARGV[2 * i]
  answers[i] = 'again'
  if waited and redis.call('EXISTS', KEYS[2 * n + i]) > 0 then -- it has waiters
  elseif ttl == '' then
    if redis.pcall('GETRANGE', lock, '0', '{{text_end}}') == id then ended[#ended + 1], answers[i] = lock, 'released' end
  else
    local stored = redis.pcall('GETRANGE', fence, '0', '{{text_end}}')
    local newest_token = stored == '' and 0 or tonumber(stored) -- see part/read_fence.lua
    if not newest_token then -- another type, or pushed
      newest_token = type(stored) == 'string' and tonumber(string.match(stored, '^(%d+) [%w_-]+$') or '')
    elseif not string.find(stored, '^%d*$') then
      newest_token = nil
    end
    if newest_token and newest_token < {{max_token}} - 1 and redis.call('SET', lock, id, 'PX', ttl, 'NX') then -- NX: KEYS may have it twice
      local base = math.max(newest_token + 1, token_now)
      if base ~= of then
        local size = math.min({{token_block}}, math.max(1, token_now + {{tokens_per_s}} - base + 1)) -- as in part/read_fence.lua
        local top = base + size - 1
        local nonce = string.match(id, '^[^.]+%.([^.]+)')
        -- include part/token_memory.lua
        -- include part/fence_ttl.lua
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
