-- job_list, SHA a14fdaf98575325e67544ee4d792ba17a6c1c8b4, of the text behind the empty line

-- job_list: reads the list of jobs. Writes nothing.
-- KEYS jobs
-- ARGV -
-- answers jobs (time; then of each job: name, record; both are '' if one is longer than ours)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local key, count, samples = KEYS[1], redis.call('HLEN', KEYS[1]), 0
if count > 10000 then return redis.error_reply('HOLDFAST ' .. KEYS[1] .. ' has too many fields: another program filled it') end
-- refuse_huge: ends the script if the members of a key are far longer than ours. Redis has no command
-- that reads a part of a member, and a copy of 490 MB stops the server for seconds. If the server refuses
-- MEMORY USAGE, the script goes on. Straight code.
-- needs: key; count: the number of its members; samples: how many of the first members count, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > 1048576 + 1024 * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
local all, answer = redis.call('HGETALL', KEYS[1]), {'jobs', string.format('%.0f', us)}
for i = 1, #all, 2 do
  local ours = #all[i] <= 1023 and #all[i + 1] <= 4096 -- else another program wrote it
  answer[#answer + 1], answer[#answer + 2] = ours and all[i] or '', ours and all[i + 1] or ''
end
return answer
