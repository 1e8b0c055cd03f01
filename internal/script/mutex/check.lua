-- check: reads what the server says about itself, and which commands it would refuse us.
-- Writes nothing. A question that it may not ask is no error: its answer stays empty.
-- KEYS lock fence queue
-- ARGV push channel, 's' in a Cluster or ''
-- answers checked (time, INFO, CLUSTER INFO, 1 if it can ask about rights, then the refused commands)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence, queue = KEYS[1], KEYS[2], KEYS[3]
local channel, s = ARGV[1], ARGV[2]
local can = redis.acl_check_cmd -- Redis 7 and Valkey

local function ask(...)
  if can and not can(...) then return '' end
  local said = redis.pcall(...)
  if type(said) == 'string' then return said end
  if type(said) == 'table' then return said.ok or '' end
  return ''
end

local answer = {'checked', us, ask('INFO'), s == '' and '' or ask('CLUSTER', 'INFO'), can and 1 or 0}
if not can then return answer end
for _, command in ipairs({
  {'EVALSHA', 'x', '0'}, {'EVAL', 'x', '0'}, {'TIME'},
  {'GETRANGE', lock, '0', '1'}, {'SET', lock, 'x', 'PX', '1'}, {'DEL', lock}, {'PTTL', lock}, {'PEXPIRE', lock, '1'},
  {'ZADD', queue, 'NX', '1', 'x'}, {'ZREM', queue, 'x'}, {'ZCARD', queue}, {'EXISTS', queue}, {'MEMORY', 'USAGE', queue}, {'ZRANGE', queue, '0', '1'}, {'ZRANK', queue, 'x'}, {'ZSCORE', queue, 'x'},
  {s .. 'PUBLISH', channel, ''}, {'PUBSUB', (s == '' and '' or 'SHARD') .. 'NUMSUB', channel},
  {s .. 'SUBSCRIBE', channel}, {'PING'}, {'SCAN', '0'},
}) do
  if not can(unpack(command)) then answer[#answer + 1] = string.lower(command[1]) end
end
return answer
