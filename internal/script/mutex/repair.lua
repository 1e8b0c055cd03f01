-- repair: gives an expiry to a key that was seen without one, if it still has the same value and that
-- is shorter than 1,024 bytes.
-- KEYS lock
-- ARGV the value that was seen, ttl in ms
-- answers repaired, unchanged
redis.call('TIME')
local value = redis.call('GETRANGE', KEYS[1], '0', '{{text_end}}')
if value ~= ARGV[1] or #value > {{text_end}} or redis.call('PTTL', KEYS[1]) ~= -1 then
  return {'unchanged'}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'repaired'}
