-- job_list: reads the list of jobs. Writes nothing.
-- KEYS jobs
-- ARGV -
-- answers jobs (time; then of each job: name, record; both are '' if one is longer than ours)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local key, count, samples = KEYS[1], redis.call('HLEN', KEYS[1]), 0
if count > {{most_fields}} then return redis.error_reply('HOLDFAST ' .. KEYS[1] .. ' has too many fields: another program filled it') end
-- include part/refuse_huge.lua
local all, answer = redis.call('HGETALL', KEYS[1]), {'jobs', string.format('%.0f', us)}
for i = 1, #all, 2 do
  local ours = #all[i] <= {{text_end}} and #all[i + 1] <= {{details_end}} -- else another program wrote it
  answer[#answer + 1], answer[#answer + 2] = ours and all[i] or '', ours and all[i + 1] or ''
end
return answer
