-- journal_write: appends entries to the journal and drops the oldest. Without entries it only
-- reads the clock.
-- KEYS stream
-- ARGV entries to keep, ttl of the stream in ms; then of each entry: writer, seq, local us, at us,
--   within us, what, name, owner, token, more
-- answers written (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local stream, keep = KEYS[1], ARGV[1]

for i = 3, #ARGV, 10 do
  redis.call('XADD', stream, 'MAXLEN', '~', keep, '*', 'writer', ARGV[i], 'seq', ARGV[i + 1], 'local', ARGV[i + 2],
    'at', ARGV[i + 3], 'within', ARGV[i + 4], 'what', ARGV[i + 5], 'name', ARGV[i + 6], 'owner', ARGV[i + 7],
    'token', ARGV[i + 8], 'more', ARGV[i + 9])
end
if #ARGV > 2 then redis.call('PEXPIRE', stream, ARGV[2]) end
return {'written', string.format('%.0f', us)}
