-- check: what the server says of itself, and which commands it would refuse us.
-- Writes nothing. What may be forbidden here is no error but left empty.
-- KEYS L F Q
-- ARGV wake channel, 's' in a Cluster or ''
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q = KEYS[1], KEYS[2], KEYS[3]
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
  {'GET', L}, {'SET', L, 'x', 'PX', '1'}, {'DEL', L}, {'PTTL', L}, {'PEXPIRE', L, '1'},
  {'ZADD', Q, 'NX', '1', 'x'}, {'ZREM', Q, 'x'}, {'ZCARD', Q}, {'EXISTS', Q}, {'ZRANGE', Q, '0', '1'}, {'ZRANK', Q, 'x'}, {'ZSCORE', Q, 'x'},
  {s .. 'PUBLISH', channel, ''}, {'PUBSUB', (s == '' and '' or 'SHARD') .. 'NUMSUB', channel},
  {s .. 'SUBSCRIBE', channel}, {'PING'}, {'SCAN', '0'},
}) do
  if not can(unpack(command)) then answer[#answer + 1] = string.lower(command[1]) end
end
return answer
