-- crowd: for many names what lock and unlock do for one that nobody else wants, and
-- nothing for a name where that is not so: it answers again, and a script of its own is
-- to be sent.
-- KEYS L and F of each name, then Q of each
-- ARGV stride, then for each name id, and ttl to lock it or '' to unlock it
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local now, n, asked = 2 * us, #KEYS / 3, tonumber(ARGV[1])

local found = redis.call('MGET', unpack(KEYS, 1, 2 * n)) -- silent of another type: NX and EXISTS are not
local waited = redis.call('EXISTS', unpack(KEYS, 2 * n + 1, 3 * n)) > 0

local answers, ended = {}, {}
local of, last, px, granted -- the same for most, since their F is behind the clock
for i = 1, n do
  local L, F, id, ttl = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], ARGV[2 * i + 1]
  local holder, fence = found[2 * i - 1], found[2 * i]
  answers[i] = 'again'
  if waited and redis.call('EXISTS', KEYS[2 * n + i]) > 0 then -- somebody stands in line
  elseif ttl == '' then
    if holder == id then ended[#ended + 1], answers[i] = L, 'released' end
  elseif not holder then
    if not fence and redis.call('EXISTS', F) == 0 then fence = '0' end
    local newest = fence and (string.find(fence, '^%d+$') and tonumber(fence) or tonumber(string.match(fence, '^(%d+) [%w_-]+$'))) -- see part/read_fence.lua
    if newest and newest < 9007199254740991 and redis.call('SET', L, id, 'PX', ttl, 'NX') then -- NX: it may stand here twice
      local base = math.max(newest + 1, now)
      if base ~= of then
        local size = math.min(asked, math.max(1, now + 2000000 - base + 1)) -- as in part/read_fence.lua
        local top = base + size - 1
        -- include part/fence_ttl.lua
        of, last, px = base, string.format('%.0f', top), life
        granted = 'granted ' .. last .. ' ' .. size .. ' 0 ' .. t[1] .. ' ' .. t[2]
      end
      redis.call('SET', F, last, 'PX', px)
      answers[i] = granted
    end
  end
end
if #ended > 0 then redis.call('DEL', unpack(ended)) end -- last: what fails before that can be asked for again
return answers
