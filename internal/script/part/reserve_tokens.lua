-- reserve_tokens: makes top the last reserved token; without a size it only prolongs the fence key.
-- Straight code.
-- needs: fence, token_now, size, top   gives: last, which is top as text, and fence_ttl
local last = '0'
-- include part/fence_ttl.lua
if size > 0 then
  last = string.format('%.0f', top)
  redis.call('SET', fence, last, 'PX', fence_ttl)
else
  redis.call('PEXPIRE', fence, fence_ttl)
end
