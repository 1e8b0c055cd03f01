-- quorum_fence: reads F.
-- needs: F, us   gives: now, fence
local now = 2 * us
local fence = redis.call('GET', F) or '0'
if not string.find(fence, '^%d+$') or tonumber(fence) >= 9007199254740991 then -- the last there is
  return redis.error_reply('HOLDFAST the fence key ' .. F .. ' holds no token')
end
fence = tonumber(fence)
