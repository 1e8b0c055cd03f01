-- inspect: what stands in the keys of one name. Writes nothing.
-- KEYS L F Q [R T [size]]
-- ARGV most waiters to list, shard suffix
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, R, T, sized = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local holder = redis.pcall('GET', L)
if type(holder) == 'table' then
  -- include part/answer_other_kind.lua
end
local term, value, order, reason = '0', '', nil, nil
if holder and R then
  local id = holder
  -- include part/read_revocation.lua
  local newest, proclaimed, whose = string.match(redis.call('GET', T) or '', '^(%d+) %d+ ([^|]*)|(.*)$')
  if whose == holder then term, value = newest, proclaimed end
end
local size = not holder and sized and redis.pcall('GET', sized)
local answer = {'state', us, holder or '', holder and 1 or 0, redis.call('PTTL', L),
  string.match(redis.call('GET', F) or '0', '^[^ ]*'), redis.call('ZCARD', Q), term, order == 'revoked' and reason or '', value, type(size) == 'string' and size or ''}
local queue = redis.call('ZRANGE', Q, 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #queue, 2 do
  local client = string.match(queue[i], '^([%w_-]+)%.')
  local n = client and redis.call('PUBSUB', ARGV[2] == '' and 'NUMSUB' or 'SHARDNUMSUB',
    'holdfast/wake:' .. client .. ARGV[2])[2] or 0
  answer[#answer + 1] = queue[i]
  answer[#answer + 1] = queue[i + 1]
  answer[#answer + 1] = n
end
return answer
