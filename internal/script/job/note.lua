-- job_note: brings what is remembered of jobs up to date. Where there are a tenth too
-- many it forgets those that nobody has tried for longest, so that not each note does.
-- KEYS jobs (a hash, by name)
-- ARGV jobs to keep, life of the hash in ms; then of each note: name, what (started,
--      ended, skipped), at us, exit code, ms that it took, owner, writer, seq
-- a job is "started succeeded ended code took skipped every looked writer seq owner"
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local J, most = KEYS[1], tonumber(ARGV[1])
local pattern = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$'

for i = 3, #ARGV, 8 do
  local name, what, at = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local job = {string.match(redis.call('HGET', J, name) or '', pattern)}
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
    redis.call('HSET', J, name, table.concat(job, ' '))
  end
end
redis.call('PEXPIRE', J, ARGV[2])
if redis.call('HLEN', J) > most * 1.1 then
  local all, ages = redis.call('HGETALL', J), {}
  for i = 1, #all, 2 do
    local looked = {string.match(all[i + 1], pattern)}
    ages[#ages + 1] = {tonumber(looked[8] or '0'), all[i]}
  end
  table.sort(ages, function(a, b) return a[1] < b[1] end)
  for i = 1, #ages - most do redis.call('HDEL', J, ages[i][2]) end
end
return {'noted', string.format('%.0f', us)}
