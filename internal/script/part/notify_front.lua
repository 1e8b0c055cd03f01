-- near: tells those who come among the first 16 of a line when to look again.
-- A function.
-- needs: Q, channel and publish of part/notify.lua or part/shared_notify.lua

-- near is called when so many have left the line, with how long L still lives in
-- ms. Whoever asked far behind took its time, and the line has moved since.
local function near(gone, life)
  if gone == 0 or life < 0 then return end
  local from, life = math.max(0, 16 - gone), math.min(life, 2900)
  for i, id in ipairs(redis.call('ZRANGE', Q, from, 15)) do
    local to = channel(id)
    if to and to ~= '' then publish(id, string.format('near %.0f ', life + 50 * (from + i - 1))) end
  end
end
