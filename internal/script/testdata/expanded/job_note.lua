-- job_note, SHA 8f47629dba710cb1b293495ea138a29ae841b352, of the text behind the empty line

-- job_note: brings the list of jobs up to date. If it has a tenth too many it forgets those that
-- nobody has tried for longest, so that not every note has to.
-- KEYS jobs (a hash, by name)
-- ARGV jobs to keep, ttl of the hash in ms; then of each note: name, what (started, ended, skipped),
--   at us, exit code, ms that it took, owner, writer, seq
-- answers noted (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local jobs, most = KEYS[1], tonumber(ARGV[1])
local pattern = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$'

for i = 3, #ARGV, 8 do
  local name, what, at = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local job = {string.match(redis.call('HGET', jobs, name) or '', pattern)}
  if #job == 0 then job = {'0', '0', '0', '0', '0', '0', '0', '0', '-', '0', ''} end
  if job[9] ~= ARGV[i + 6] or tonumber(job[10]) < tonumber(ARGV[i + 7]) then -- else it is a repeat
    local looked = tonumber(job[8])
    if what ~= 'ended' and looked > 0 and at > looked then job[7] = string.format('%.0f', at - looked) end
    if what ~= 'ended' then job[8] = string.format('%.0f', math.max(at, looked)) end
    if what == 'started' then
      job[1], job[6], job[11] = ARGV[i + 2], '0', ARGV[i + 5]
    elseif what == 'skipped' then
      job[6] = string.format('%.0f', job[6] + 1)
    else
      job[3], job[4], job[5] = ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
      if ARGV[i + 3] == '0' then job[2] = ARGV[i + 2] end
    end
    job[9], job[10] = ARGV[i + 6], ARGV[i + 7]
    redis.call('HSET', jobs, name, table.concat(job, ' '))
  end
end
redis.call('PEXPIRE', jobs, ARGV[2])
if redis.call('HLEN', jobs) > most * 1.1 then
  local all, ages = redis.call('HGETALL', jobs), {}
  for i = 1, #all, 2 do
    local looked = {string.match(all[i + 1], pattern)}
    ages[#ages + 1] = {tonumber(looked[8] or '0'), all[i]}
  end
  table.sort(ages, function(a, b) return a[1] < b[1] end)
  for i = 1, #ages - most do redis.call('HDEL', jobs, ages[i][2]) end
end
return {'noted', string.format('%.0f', us)}
