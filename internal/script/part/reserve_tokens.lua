-- reserve_tokens: makes top the last reserved token; without a size it only prolongs the fence key.
-- Straight code.
-- needs: fence, token_now, size, top, memory   gives: last, which is top as text, and what fence_ttl.lua gives
local last = '0'
-- include part/fence_ttl.lua
if size > 0 then
  last = string.format('%.0f', top)
  redis.call('SET', fence, last, 'PX', fence_px)
else
  redis.call('PEXPIRE', fence, fence_px)
end
