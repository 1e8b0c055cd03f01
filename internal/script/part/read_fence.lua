-- fence: reads F and works out where the next stride would begin. Straight
-- code, no function: it stands on the uncontended path.
-- needs: F, us, and these declared, which it sets: now, fence, pushed (F, where it
--   ends with the client that the newest grant was pushed to; else nil), base, room
now = 2 * us
local mark = redis.call('GET', F) or '0'
fence = tonumber(mark)
if not fence then
  pushed, fence = mark, tonumber(string.match(mark, '^(%d+) [%w_-]+$') or '')
end
if not fence or fence >= 9007199254740991 or not pushed and not string.find(mark, '^%d+$') then -- the last there is
  return redis.error_reply('HOLDFAST the fence key ' .. F .. ' holds no token')
end
base = math.max(fence + 1, now)
room = math.max(1, now + 2000000 - base + 1) -- never more than 1 s ahead
