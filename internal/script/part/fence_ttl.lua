-- fence_ttl: finds how long the fence key lives: a day and a second, and longer by as much as it is
-- ahead of the clock. A Client that remembers tokens for less than a day never shortens what another
-- has set. Straight code.
-- needs: fence, token_now, top, memory of token_memory.lua   gives: fence_ttl, in ms as text; known,
--   how long the key lives already, 0 if it does not matter; fence_px, the longer of both, as text
local fence_ttl, known = '{{fence_ttl_ms}}', 0
local fence_px = fence_ttl
if memory then
  known = redis.call('PTTL', fence)
  fence_ttl = string.format('%.0f', memory + math.max({{ahead_ms}}, math.ceil((top - token_now) / {{tokens_per_ms}})))
  fence_px = string.format('%.0f', math.max(known, fence_ttl))
elseif top > token_now + {{tokens_per_s}} then
  fence_ttl = string.format('%.0f', {{record_ttl_ms}} + math.ceil((top - token_now) / {{tokens_per_ms}}))
  fence_px = fence_ttl
end
