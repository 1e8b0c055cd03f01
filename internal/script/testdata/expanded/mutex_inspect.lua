-- inspect, SHA 747c44074093632babadd918055b44a3517c542f, of the text behind the empty line

-- inspect: reads the state of one name. Writes nothing.
-- KEYS lock fence queue [revocation term [size]]
-- ARGV most waiters to list, shard suffix
-- answers state (time, holder, 1 if held, remaining ms, last token, waiters, term, reason of a
--   revocation, proclaimed value, size; then of each waiter: id, arrival, listeners), other kind
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue, revocation, term, size_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local holder = redis.pcall('GETRANGE', lock, '0', '1023')
if type(holder) == 'table' then
-- answer_other_kind: ends the script of a mutex whose lock key is no string: with the kind that it is, or
-- with the error that said so.
-- needs: lock, holder
local kind, capacity = redis.pcall('HSTRLEN', lock, 'kind'), redis.pcall('HSTRLEN', lock, 'capacity')
if type(kind) == 'table' or type(capacity) == 'table' or math.max(kind, capacity) > 1023 then return holder end
local is = redis.pcall('HMGET', lock, 'kind', 'capacity')
if is.err or not is[1] then return holder end
return {'other kind', is[1], is[2] or 0}
end
local px = redis.call('PTTL', lock)
if px == -2 then holder = false end
local term_now, value, ending, reason = '0', '', nil, nil
if holder and revocation then
  local id = holder
-- read_revocation: reads what Revoke, Steal or an adoption noted about an id. Straight code.
-- needs: revocation, id, and these declared, which it sets
-- gives: ending ('revoked', 'stolen', 'adopted' or nil), reason
local mark = redis.call('GETRANGE', revocation, '0', '1023')
if mark ~= '' then
  local word, whose = string.match(mark, '^(%a+) (.*)$')
  if whose and string.sub(whose, 1, #id + 1) == id .. '|' then -- an id has one bar, and no other id begins with it
    ending, reason = word, string.sub(whose, #id + 2)
  end
end
  local newest, proclaimed, whose = string.match(redis.call('GETRANGE', term, '0', '1023'), '^(%d+) %d+ ([^|]*)|(.*)$')
  if whose == holder then term_now, value = newest, proclaimed end
end
local size = not holder and size_key and redis.pcall('GETRANGE', size_key, '0', '1023')
local answer = {'state', us, holder or '', holder and 1 or 0, px,
  string.match(redis.call('GETRANGE', fence, '0', '1023'), '^[^ ]*'), redis.call('ZCARD', queue), term_now, ending == 'revoked' and reason or '', value, type(size) == 'string' and size or ''}
local key, count, samples = queue, redis.call('ZCARD', queue), ARGV[1]
-- refuse_huge: ends the script if the members of a key are far longer than ours. Redis has no command
-- that reads a part of a member, and a copy of 490 MB stops the server for seconds. If the server refuses
-- MEMORY USAGE, the script goes on. Straight code.
-- needs: key; count: the number of its members; samples: how many of the first members count, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > 1048576 + 1024 * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
local waiters = redis.call('ZRANGE', queue, 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #waiters, 2 do
  local client = string.match(string.sub(waiters[i], 1, 1023), '^([%w_-]+)%.')
  local n = client and redis.call('PUBSUB', ARGV[2] == '' and 'NUMSUB' or 'SHARDNUMSUB',
    'holdfast/push:' .. client .. ARGV[2])[2] or 0
  answer[#answer + 1] = string.sub(waiters[i], 1, 1024)
  answer[#answer + 1] = waiters[i + 1]
  answer[#answer + 1] = n
end
return answer
