-- job_note: brings the list of jobs up to date. If it has a tenth too many it forgets those that
-- nobody has tried for longest, so that not every note has to.
-- KEYS jobs (a hash, by name)
-- ARGV jobs to keep, ttl of the hash in ms; then of each note: name, what (started, ended, skipped),
--   at us, exit code, ms that it took, owner, writer, seq, token, client, period us (0: unknown,
--   -1: it has none), ms that it takes at most (0: unknown)
-- answers noted (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local jobs, most = KEYS[1], tonumber(ARGV[1])
local fields = {'started', 'succeeded', 'ended', 'tried', 'code', 'took', 'skipped', 'writer', 'seq',
  'token', 'client', 'period', 'planned', 'expect', 'day', 'gaps', 'runs', 'owner'}
local given = {'name', 'what', 'at', 'code', 'took', 'owner', 'writer', 'seq', 'token', 'client', 'period', 'expect'}
-- A record of another program does not match, and is replaced. So is one with a time that is more than a day ahead or before
-- 1970, or with an impossible period: notes would keep these, and no reader takes them.
local number, list = '(%-?%d+) ', '([%d,]*%d) '
local pattern = '^' .. string.rep(number, 7) .. '(%S+) ' .. string.rep(number, 2) .. '(%S+) ' .. string.rep(number, 4) .. list .. list .. '(.*)$'

local function read(record)
  local job, values = {}, {string.match(record and #record <= {{details_end}} and record or '', pattern)}
  for i, field in ipairs(fields) do job[field] = values[i] or '0' end
  local period = tonumber(job.period)
  local ours = -1 <= period and period <= {{longest_us}}
  for _, field in ipairs({'started', 'succeeded', 'ended', 'tried', 'planned'}) do
    local at = tonumber(job[field])
    ours = ours and 0 <= at and at <= us + {{day_us}}
  end
  if not ours then
    for _, field in ipairs(fields) do job[field] = '0' end
  end
  return job
end

local function later(a, b) return string.format('%.0f', math.max(a, b)) end

-- appended adds a number to a list and drops the oldest of too many; '0' is an empty list.
local function appended(list, number)
  if list == '0' then return number end
  list = list .. ',' .. number
  local _, commas = string.gsub(list, ',', '')
  return commas < {{job_history}} and list or string.match(list, ',(.*)')
end

-- Of each of the newest days with a start, gaps has the longest pause before one, in seconds:
-- many starts in a row do not push older pauses out.
local function paused(job, at)
  local day = string.format('%.0f', math.floor(at / 1000 / {{day_ms}}))
  local gap = string.format('%.0f', (at - job.started) / 1000000)
  if day ~= job.day then
    job.gaps, job.day = appended(job.gaps, gap), day
  else
    local older, last = string.match(job.gaps, '^(.-)(%d+)$')
    job.gaps = older .. later(last, gap)
  end
end

local function started(job, note)
  if note.period == '0' and tonumber(job.started) > 0 then paused(job, note.at) end
  if note.period ~= '0' then job.period, job.planned = note.period, note.at end
  if note.period == '0' and job.period == '-1' then job.period = '0' end
  job.started, job.skipped, job.expect = note.at, '0', note.expect
  job.owner, job.token, job.client = note.owner, note.token, note.client
end

-- An older run may end after the start of a newer one, and a start may be missing.
local function ended(job, note)
  if tonumber(note.token) > tonumber(job.token) then
    job.started = string.format('%.0f', note.at - note.took * 1000)
    job.tried, job.skipped, job.owner, job.token, job.client = later(job.tried, job.started), '0', note.owner, note.token, note.client
  end
  if note.token == job.token then job.ended, job.code, job.took = note.at, note.code, note.took end
  if note.code == '0' then
    job.succeeded = later(job.succeeded, note.at)
    if job.period ~= '-1' then job.runs = appended(job.runs, later(note.took, 1)) end
  end
end

for i = 3, #ARGV, #given do
  local note = {}
  for n, field in ipairs(given) do note[field] = ARGV[i + n - 1] end
  local job = read(redis.call('HSTRLEN', jobs, note.name) <= {{details_end}} and redis.call('HGET', jobs, note.name))
  local again = job.writer == note.writer and tonumber(job.seq) >= tonumber(note.seq)
  local older = note.what == 'started' and tonumber(note.at) <= tonumber(job.started)
  if not again and not older then
    if note.what ~= 'ended' then job.tried = later(job.tried, note.at) end
    if note.what == 'started' then
      started(job, note)
    elseif note.what == 'skipped' then
      job.skipped = later(job.skipped + 1, 0)
    else
      ended(job, note)
    end
    job.writer, job.seq = note.writer, note.seq
    local values = {}
    for n, field in ipairs(fields) do values[n] = job[field] end
    redis.call('HSET', jobs, note.name, table.concat(values, ' '))
  end
end
redis.call('PEXPIRE', jobs, ARGV[2])
local count = redis.call('HLEN', jobs)
if count > most * 1.1 and count <= {{most_fields}} then -- more: another program filled it
  local all, ages = redis.call('HGETALL', jobs), {}
  for i = 1, #all, 2 do ages[#ages + 1] = {tonumber(read(all[i + 1]).tried), all[i]} end
  table.sort(ages, function(a, b) return a[1] < b[1] end)
  for i = 1, #ages - most do redis.call('HDEL', jobs, ages[i][2]) end
end
return {'noted', string.format('%.0f', us)}
