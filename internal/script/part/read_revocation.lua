-- order: what Revoke, Steal or an adoption has left word of. Straight code.
-- needs: R, id, and these declared, which it sets: order ('revoked', 'stolen',
--   'adopted' or nil), reason
local mark = redis.call('GET', R)
if mark then
  local word, rest = string.match(mark, '^(%a+) (.*)$')
  if rest and string.sub(rest, 1, #id + 1) == id .. '|' then -- an id has one bar, and no other id begins with it
    order, reason = word, string.sub(rest, #id + 2)
  end
end
