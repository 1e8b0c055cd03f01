-- fence_ttl: finds how long the fence key lives: a day and a second, and longer by as much as it is
-- ahead of the clock. Straight code.
-- needs: token_now, top   gives: fence_ttl, in ms as text
local fence_ttl = '{{fence_ttl_ms}}'
if top > token_now + {{tokens_per_s}} then fence_ttl = string.format('%.0f', {{record_ttl_ms}} + math.ceil((top - token_now) / {{tokens_per_ms}})) end
