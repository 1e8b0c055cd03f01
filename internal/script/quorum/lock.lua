-- quorum_lock: asks one node for its vote for an id.
-- KEYS lock fence marker wanted
-- ARGV id, proposed token, quorum-id, ms within which a waiting caller asks again (0: it does not wait)
-- answers granted (token, size of the block, time, run), held (holder, remaining ms, 0, time, '', run),
--   no vote (ms, time, run), no member (quorum-id, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, marker = KEYS[1], KEYS[2], KEYS[3]
local id, proposed, quorum = ARGV[1], tonumber(ARGV[2]), ARGV[3]
-- include part/quorum_check_member.lua

local holder = redis.call('GETRANGE', lock, '0', '{{text_end}}')
if holder == '' and redis.call('EXISTS', lock) == 0 then holder = false end
if holder then
  local stored = holder
  -- include part/refuse_version.lua
end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)|'))
if ttl > {{quorum_ttl_ms}} then
  return redis.error_reply('HOLDFAST the ttl is longer than a restarted node gives no vote')
end
-- include part/quorum_read_fence.lua

if restarted then redis.call('SET', marker, marked) end
if us < till then
  return {'no vote', math.ceil((till - us) / 1000), us, run}
end
if holder then
  local whose, token = string.match(holder, '^(.*):(%d+)$')
  if whose == id then return {'granted', token, {{token_block}}, us, run} end
  local wanted, comes, me = KEYS[4], tonumber(ARGV[4]), string.match(id, '^[^.]*')
  if comes > 0 then
    local by = redis.pcall('GETRANGE', wanted, '0', '{{text_end}}')
    local several = type(by) == 'string' and by ~= '' and by ~= me
    redis.pcall('SET', wanted, several and '*' or me, 'PX', math.max(comes, redis.call('PTTL', wanted))) -- full memory refuses it
  end
  return {'held', holder, redis.call('PTTL', lock), 0, us, '', run}
end
local base = math.max(newest_token + 1, math.min(math.max(proposed, token_now - {{tokens_per_s}}), token_now + {{tokens_per_s}}))
local token = string.format('%.0f', base)
local top = base + {{token_block}} - 1
redis.call('SET', lock, id .. ':' .. token, 'PX', ttl)
redis.call('SET', fence, string.format('%.0f', top), 'PX',
  string.format('%.0f', math.max({{day_ms}}, ttl) + math.max(0, math.ceil((top - token_now) / {{tokens_per_ms}}))))
return {'granted', token, {{token_block}}, us, run}
