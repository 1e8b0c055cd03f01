-- shared_inspect: reads the state of a name of a shared kind. Writes nothing.
-- KEYS lock fence queue holders
-- ARGV most holders and waiters to list, shard suffix
-- answers shared (time, kind, capacity, used, last token, holders, waiters, listed holders; then of
--   each holder: id, remaining ms, weight; then of each waiter: id, arrival, listeners), other kind
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local most, suffix = tonumber(ARGV[1]), ARGV[2]
-- include part/shared_ids.lua
for _, field in ipairs({'kind', 'capacity', 'head', 'asked'}) do
  if redis.call('HSTRLEN', lock, field) > {{text_end}} then return redis.error_reply('WRONGTYPE ' .. lock .. ' is a hash of another program') end
end
local kind = redis.call('HMGET', lock, 'kind')[1] or ''
do
  local key, count, samples = holders, redis.call('ZCARD', holders), {{most_heavy}}
  -- include part/refuse_huge.lua
end
do
  local key, count, samples = queue, redis.call('ZCARD', queue), most
  -- include part/refuse_huge.lua
end
-- include part/shared_read_state.lua
-- include part/shared_count_used.lua
local function some(from, n) return n > 0 and redis.call('ZRANGE', holders, from, from + math.min(n, most) - 1, 'WITHSCORES') or {} end
local a, b, i, j = some(below, heavy), some(-light, light), 1, 1
local listed = math.min(light + heavy, most)
local answer = {'shared', us, kind, seen[2] or 0, used, string.match(redis.call('GETRANGE', fence, '0', '{{text_end}}'), '^[^ ]*'), light + heavy, redis.call('ZCARD', queue), listed}
for _ = 1, listed do -- by the end of their time, light or heavy
  local one
  if not b[j] or a[i] and expiry_of(a[i + 1]) < expiry_of(b[j + 1]) then
    one, i = {a[i], a[i + 1]}, i + 2
  else
    one, j = {b[j], b[j + 1]}, j + 2
  end
  answer[#answer + 1] = string.sub(one[1], 1, {{text}})
  answer[#answer + 1] = math.min(math.ceil((expiry_of(one[2]) - us) / 1000), {{longest_pttl_ms}})
  answer[#answer + 1] = tonumber(one[2]) >= LIGHT and 1 or weights[one[1]] or weight_of(one[1]) or 1
end
local waiters = redis.call('ZRANGE', queue, 0, most - 1, 'WITHSCORES')
for i = 1, #waiters, 2 do
  local client = string.match(string.sub(waiters[i], 1, {{text_end}}), '^([%w_-]+)%.')
  answer[#answer + 1] = string.sub(waiters[i], 1, {{text}})
  answer[#answer + 1] = waiters[i + 1]
  answer[#answer + 1] = client and redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB',
    'holdfast/push:' .. client .. suffix)[2] or 0
end
return answer
