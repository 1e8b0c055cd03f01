-- eval_check: stands before a script of the user, so that it runs only for a holder that may write.
-- What follows sees no local of it, and KEYS and ARGV of its own are gone by then. On its way into
-- Redis it is one line, so that line numbers are the user's.
-- KEYS lock written, then the user's
-- ARGV id, token, then the user's
do
  local lock, written, token = KEYS[1], KEYS[2], ARGV[2]
  local holder = redis.call('GETRANGE', lock, '0', '{{text_end}}')
  if holder ~= ARGV[1] then
    return redis.error_reply(redis.call('EXISTS', lock) > 0 and 'HOLDFAST lost: taken' or 'HOLDFAST lost: gone')
  end
  local stored = redis.call('GETRANGE', written, '0', '{{text_end}}')
  if stored == '' then stored = '0' end
  if not string.find(stored, '^%d+$') or tonumber(stored) >= {{max_token}} then
    return redis.error_reply('HOLDFAST the key ' .. written .. ' holds no token')
  end
  if tonumber(stored) > tonumber(token) then
    return redis.error_reply('HOLDFAST stale: ' .. stored)
  end
  local nonce, ttl = string.match(holder, '^[^.]+%.([^.]+)%.(%d+)|')
  -- include part/token_memory.lua
  -- With a shorter memory each Eval prolongs the key, by what full memory never refuses.
  if memory or stored ~= token or redis.call('PTTL', written) < {{day_ms}} then
    local t = redis.call('TIME')
    local token_now = {{tokens_per_us}} * (t[1] * 1000000 + t[2])
    local px = (memory and memory + {{ahead_ms}} or {{fence_ttl_ms}}) + math.max(0, math.ceil((token - token_now) / {{tokens_per_ms}}))
    if memory then px = math.max(px, redis.call('PTTL', written)) end
    if memory and stored == token then
      redis.call('PEXPIRE', written, string.format('%.0f', px))
    else
      redis.call('SET', written, token, 'PX', string.format('%.0f', px))
    end
  end
  for i = 1, 2 do
    table.remove(KEYS, 1)
    table.remove(ARGV, 1)
  end
end
