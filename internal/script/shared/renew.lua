-- shared_renew: prolongs one holder's time, and may reserve tokens for it. Never
-- makes a holder anew, nor L. Where a part was made smaller it replaces the former
-- id, or takes out what a late lock of it has left, and makes holders of those who
-- fit then.
-- KEYS L F Q H, revocation key of id
-- ARGV id, then, unless F may be left alone: stride or 0, then, if its part was made
-- smaller: shard suffix, former ids
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local L, F, Q, H = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, locked = ARGV[1], ARGV[4] -- as which it was locked

local score, former = redis.call('ZSCORE', H, id), nil
local clear = locked and redis.call('ZSCORE', Q, locked)
for i = #ARGV, 4, -1 do -- the newest first: only the first can be of a late lock
  local found = redis.call('ZSCORE', H, ARGV[i])
  if found and not score then
    score, former = found, ARGV[i]
  elseif found then
    clear = redis.call('ZREM', H, ARGV[i])
  end
end
local LIGHT = 4503599627370496 -- see part/shared_ids.lua; whoever stands above it stays there
local above = score and tonumber(score) >= LIGHT and LIGHT or 0
local over = score and score - above
local kind = redis.pcall('HMGET', L, 'kind')
local order, reason = string.match(KEYS[5] and redis.call('GET', KEYS[5]) or '', '^(%a+)|(.*)$')
if kind.err and not string.find(kind.err, 'WRONGTYPE', 1, true) then return kind end
if order == 'stolen' then return {'stolen', reason} end
if kind.err or not over or over <= us then
  if over then redis.call('ZREM', H, former or id) end -- it hears that it is over
  if not kind.err and (kind[1] or redis.call('PTTL', L) == -2)
    and redis.call('ZCOUNT', H, string.format('(%.0f', us), string.format('(%.0f', LIGHT)) == 0
    and redis.call('ZCOUNT', H, string.format('(%.0f', us + LIGHT), '+inf') == 0 then
    redis.call('UNLINK', L, H) -- nobody is behind it any more
  end
  return {'lost', kind.err and redis.call('GET', L) or '', us}
end
local ttl = tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.'))
local now, fence, pushed, base, room
if ARGV[2] then
  -- include part/read_fence.lua
end

if former or clear then
  -- include part/shared_replace_id.lua
  if order == 'revoked' then return {'revoked', reason} end
  return string.format('renewed 0 0 0 %s %s %s', t[1], t[2], refused)
end
redis.call('PEXPIRE', L, math.max(ttl, redis.call('PTTL', L))) -- first: full memory never refuses it, and then nothing that follows
redis.call('PEXPIRE', H, math.max(ttl, redis.call('PTTL', H)))
redis.call('ZADD', H, string.format('%.0f', us + 1000 * ttl + above), id)
if order == 'revoked' then return {'revoked', reason} end -- its time was prolonged once more: for work that is stopping
if not ARGV[2] then return 'renewed 0 0 0 0 0' end
local size, top = math.min(tonumber(ARGV[2]), room), fence
if size > 0 then top = base + size - 1 end
-- include part/reserve_tokens.lua
return string.format('renewed %s %d 0 %s %s', last, size, t[1], t[2])
