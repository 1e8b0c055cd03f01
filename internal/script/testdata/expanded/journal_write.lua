-- journal_write, SHA 04f286bc79cae7604e39907e68fca92e31b622db, of the text behind the empty line

-- journal_write: appends entries to the journal, drops the oldest, and adds grants and losses to the
-- sums of their hours. Without entries it only reads the clock.
-- KEYS stream, sums (a hash, by hours since 1970), counted (number of the newest entry of the writer
--   that was added to sums: a batch may come twice)
-- ARGV entries to keep, ttl of the stream in ms; then of each entry: writer, seq, local us, at us,
--   within us, what, name, owner, token, more
-- answers written (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local stream, sums, counted, keep = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local now = math.floor(us / 3600000000)

local seen, added, fresh = nil, {}, false
if #ARGV > 2 then seen = tonumber(redis.call('GETRANGE', counted, '0', '1023')) or -1 end
local newest = seen
for i = 3, #ARGV, 10 do
  local seq, of, what = tonumber(ARGV[i + 1]), math.min(math.floor(ARGV[i + 3] / 3600000000), now), ARGV[i + 5]
  if seq > seen and (what == 'granted' or what == 'lost') then
    local sum = added[of] or {0, 0, 0, 0}
    added[of], newest = sum, math.max(newest, seq)
    if what == 'lost' then
      sum[2] = sum[2] + 1
    else
      local waited = tonumber(string.match(ARGV[i + 9], '"waited":(%d+)') or '0')
      sum[1], sum[3], sum[4] = sum[1] + 1, sum[3] + waited, math.max(sum[4], waited)
    end
  end
end
for of, sum in pairs(added) do
  local n = {string.match(redis.call('HSTRLEN', sums, of) <= 1023 and redis.call('HGET', sums, of) or '', '^(%d+) (%d+) (%d+) (%d+)$')}
  fresh = fresh or not n[1]
  sum[5] = string.format('%.0f %.0f %.0f %.0f', (n[1] or 0) + sum[1], (n[2] or 0) + sum[2], (n[3] or 0) + sum[3], math.max(n[4] or 0, sum[4]))
end

for i = 3, #ARGV, 10 do
  redis.call('XADD', stream, 'MAXLEN', '~', keep, '*', 'writer', ARGV[i], 'seq', ARGV[i + 1], 'local', ARGV[i + 2],
    'at', ARGV[i + 3], 'within', ARGV[i + 4], 'what', ARGV[i + 5], 'name', ARGV[i + 6], 'owner', ARGV[i + 7],
    'token', ARGV[i + 8], 'more', ARGV[i + 9])
end
if #ARGV > 2 then redis.call('PEXPIRE', stream, ARGV[2]) end
if newest ~= seen then
  for of, sum in pairs(added) do redis.call('HSET', sums, of, sum[5]) end
  redis.call('SET', counted, string.format('%.0f', newest), 'PX', 600000)
end
if fresh then -- a new hour
  redis.call('PEXPIRE', sums, 691200000)
  local all = redis.call('HLEN', sums) <= 10000 and redis.call('HGETALL', sums) or {} -- more: another program filled it
  for i = 1, #all, 2 do
    local of = tonumber(all[i])
    if not of or of <= now - 192 or of > now + 1 then redis.call('HDEL', sums, all[i]) end -- a clock may have run ahead
  end
end
return {'written', string.format('%.0f', us)}
