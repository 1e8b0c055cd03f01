-- job_list, SHA 2f5e3010484a02d6ec15f18e218a18c239a25d90, of the text behind the empty line

-- job_list: reads the list of jobs. Writes nothing.
-- KEYS jobs
-- ARGV -
-- answers jobs (time; then of each job: name, record)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local answer = redis.call('HGETALL', KEYS[1])
table.insert(answer, 1, string.format('%.0f', us))
table.insert(answer, 1, 'jobs')
return answer
