-- repair, SHA b8fed2f5f412a48a2b871818222fe7c88011e14a, of the text behind the empty line

-- repair: gives an expiry to a key that was seen without one, if it still has the same value.
-- KEYS lock
-- ARGV the value that was seen, ttl in ms
-- answers repaired, unchanged
redis.call('TIME')
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('PTTL', KEYS[1]) ~= -1 then
  return {'unchanged'}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'repaired'}
