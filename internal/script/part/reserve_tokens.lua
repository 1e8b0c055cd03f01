-- reserve: makes top the last token reserved; without a size only prolongs F.
-- Straight code.
-- needs: F, now, size, top   gives: last, which is top as text
local last = '0'
-- include part/fence_ttl.lua
if size > 0 then
  last = string.format('%.0f', top)
  redis.call('SET', F, last, 'PX', life)
else
  redis.call('PEXPIRE', F, life)
end
