-- fence_ttl: finds how long the fence key lives: a day and a second, and longer by as much as it is
-- ahead of the clock. Straight code.
-- needs: token_now, top   gives: fence_ttl, in ms as text
local fence_ttl = '90001000'
if top > token_now + 2000000 then fence_ttl = string.format('%.0f', 90000000 + math.ceil((top - token_now) / 2000)) end
