-- fence_life: how long F lives: a day and a second, and as long as it is further ahead
-- of the clock on top. Straight code.
-- needs: now, top   gives: life, in ms as text
local life = '90001000'
if top > now + 2000000 then life = string.format('%.0f', 90000000 + math.ceil((top - now) / 2000)) end
