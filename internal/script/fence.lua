-- fence: reads F and works out where the next stride would begin. Straight
-- code, no function: it stands on the uncontended path.
-- needs: F, us, and these declared, which it sets: now, fence, base, room
now = 2 * us
fence = redis.call('GET', F) or '0'
if not string.find(fence, '^%d+$') or tonumber(fence) >= 9007199254740991 then -- the last there is
  return redis.error_reply('HOLDFAST the fence key ' .. F .. ' holds no token')
end
fence = tonumber(fence)
base = math.max(fence + 1, now)
room = math.max(1, now + 2000000 - base + 1) -- never more than 1 s ahead
