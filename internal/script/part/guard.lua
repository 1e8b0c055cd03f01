-- guard: what stands before a script of the user, so that it runs only for who
-- may write. No local of it is seen by what follows, nor are KEYS and ARGV of its
-- own; on its way into Redis it is one line, so that lines are the user's.
-- KEYS L W, then the user's
-- ARGV id, token, then the user's
do
  local L, W, token = KEYS[1], KEYS[2], ARGV[2]
  local holder = redis.call('GET', L)
  if holder ~= ARGV[1] then
    return redis.error_reply(holder and 'HOLDFAST lost: taken' or 'HOLDFAST lost: gone')
  end
  local written = redis.call('GET', W) or '0'
  if not string.find(written, '^%d+$') or tonumber(written) >= 9007199254740992 then
    return redis.error_reply('HOLDFAST the key ' .. W .. ' holds no token')
  end
  if tonumber(written) > tonumber(token) then
    return redis.error_reply('HOLDFAST stale: ' .. written)
  end
  if written ~= token or redis.call('PTTL', W) < 86400000 then
    local t = redis.call('TIME')
    local now = 2 * (t[1] * 1000000 + t[2])
    redis.call('SET', W, token, 'PX', string.format('%.0f', 90001000 + math.max(0, math.ceil((token - now) / 2000))))
  end
  for i = 1, 2 do
    table.remove(KEYS, 1)
    table.remove(ARGV, 1)
  end
end
