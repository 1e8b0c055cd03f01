-- holder: who has the name. What is no string is not ours: another kind of lock has the
-- name by now, or another program its key. Straight code.
-- needs: L   gives: holder: the value of L, '' where it is no string, false where it is none
local holder = redis.pcall('GET', L)
if type(holder) == 'table' then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  holder = ''
end
