-- read_revocation: reads what Revoke, Steal or an adoption noted about an id. Straight code.
-- needs: revocation, id, and these declared, which it sets
-- gives: ending ('revoked', 'stolen', 'adopted' or nil), reason
local mark = redis.call('GETRANGE', revocation, '0', '{{text_end}}')
if mark ~= '' then
  local word, whose = string.match(mark, '^(%a+) (.*)$')
  if whose and string.sub(whose, 1, #id + 1) == id .. '|' then -- an id has one bar, and no other id begins with it
    ending, reason = word, string.sub(whose, #id + 2)
  end
end
