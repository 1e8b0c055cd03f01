-- shared_inspect: what stands in the keys of a name of a shared kind. Writes
-- nothing.
-- KEYS L F Q H
-- ARGV most holders and waiters to list, shard suffix
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, H = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local most, suffix = tonumber(ARGV[1]), ARGV[2]
-- include shared_ids.lua
local kind = redis.call('HMGET', L, 'kind')[1] or ''
-- include shared_state.lua
local from = live > 0 and -live or 1
local holders = redis.call('ZRANGE', H, from, live > most and most - live - 1 or live > 0 and -1 or 0, 'WITHSCORES')
local answer = {'shared', us, kind, seen[2] or 0, used, redis.call('GET', F) or '0', live, redis.call('ZCARD', Q), #holders / 2}
for i = 1, #holders, 2 do
  answer[#answer + 1] = holders[i]
  answer[#answer + 1] = math.ceil((holders[i + 1] - us) / 1000)
end
local queue = redis.call('ZRANGE', Q, 0, most - 1, 'WITHSCORES')
for i = 1, #queue, 2 do
  local client = string.match(queue[i], '^([%w_-]+)%.')
  answer[#answer + 1] = queue[i]
  answer[#answer + 1] = queue[i + 1]
  answer[#answer + 1] = client and redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB',
    'holdfast/wake:' .. client .. suffix)[2] or 0
end
return answer
