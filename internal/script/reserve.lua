-- reserve: makes top the last token reserved; without a size only prolongs F. F
-- lives a day and a second, and as long as it is further ahead of the clock on
-- top. Straight code.
-- needs: F, now, size, top   gives: last, which is top as text
local last, life = '0', '90001000'
if top > now + 2000000 then life = string.format('%.0f', 90000000 + math.ceil((top - now) / 2000)) end
if size > 0 then
  last = string.format('%.0f', top)
  redis.call('SET', F, last, 'PX', life)
else
  redis.call('PEXPIRE', F, life)
end
