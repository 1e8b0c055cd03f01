-- job_forget, SHA 43f66e669dec330e6f9409d6bfc63c2e5df64ccc, of the text behind the empty line

-- job_forget: removes a job from the list.
-- KEYS jobs
-- ARGV name
-- answers forgotten (time, record), unknown (time)
local t = redis.call('TIME')
local us = string.format('%.0f', t[1] * 1000000 + t[2])
if redis.call('HSTRLEN', KEYS[1], ARGV[1]) > 4096 then -- another program wrote it
  redis.call('HDEL', KEYS[1], ARGV[1])
  return {'forgotten', us, ''}
end
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record then return {'unknown', us} end
redis.call('HDEL', KEYS[1], ARGV[1])
return {'forgotten', us, record}
