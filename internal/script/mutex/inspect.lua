-- inspect: reads the state of one name. Writes nothing.
-- KEYS lock fence queue [revocation term [size]]
-- ARGV most waiters to list, shard suffix
-- answers state (time, holder, 1 if held, remaining ms, last token, waiters, term, reason of a
--   revocation, proclaimed value, size; then of each waiter: id, arrival, listeners), other kind
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, revocation, term, size_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local holder = redis.pcall('GETRANGE', lock, '0', '{{text_end}}')
if type(holder) == 'table' then
  -- include part/answer_other_kind.lua
end
local px = redis.call('PTTL', lock)
if px == -2 then holder = false end
local term_now, value, ending, reason = '0', '', nil, nil
if holder and revocation then
  local id = holder
  -- include part/read_revocation.lua
  local newest, proclaimed, whose = string.match(redis.call('GETRANGE', term, '0', '{{text_end}}'), '^(%d+) %d+ ([^|]*)|(.*)$')
  if whose == holder then term_now, value = newest, proclaimed end
end
local size = not holder and size_key and redis.pcall('GETRANGE', size_key, '0', '{{text_end}}')
local answer = {'state', us, holder or '', holder and 1 or 0, px,
  string.match(redis.call('GETRANGE', fence, '0', '{{text_end}}'), '^[^ ]*'), redis.call('ZCARD', queue), term_now, ending == 'revoked' and reason or '', value, type(size) == 'string' and size or ''}
local key, count, samples = queue, redis.call('ZCARD', queue), ARGV[1]
-- include part/refuse_huge.lua
local waiters = redis.call('ZRANGE', queue, 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #waiters, 2 do
  local client = string.match(string.sub(waiters[i], 1, {{text_end}}), '^([%w_-]+)%.')
  local n = client and redis.call('PUBSUB', ARGV[2] == '' and 'NUMSUB' or 'SHARDNUMSUB',
    'holdfast/push:' .. client .. ARGV[2])[2] or 0
  answer[#answer + 1] = string.sub(waiters[i], 1, {{text}})
  answer[#answer + 1] = waiters[i + 1]
  answer[#answer + 1] = n
end
return answer
