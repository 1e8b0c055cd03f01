-- held, SHA dd6be3f56e8f6a047c0884d866cadcea271c37ae, of the text behind the empty line

-- held: reports whether a tenure still has the name, and for how long. Writes nothing.
-- KEYS lock revocation, or lock alone
-- ARGV id
-- answers ours (remaining ms), lost (holder, time), revoked (reason), stolen (reason)
local lock, revocation = KEYS[1], KEYS[2]
local id = ARGV[1]

local ending, reason
-- read_holder: reads the holder. A value that is no string is not ours: another kind of lock has the
-- name by now, or another program its key. Straight code.
-- needs: lock; in most scripts ARGV[1] is the id of the holder, and then holder is a string
-- gives: holder: the value of the lock key, or the first 1,024 bytes of a longer one; '' if it is no
--   string, false if there is none
local holder = redis.pcall('GETRANGE', lock, '0', '1023')
if holder ~= ARGV[1] and type(holder) == 'table' then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  holder = ''
elseif holder == '' and redis.call('EXISTS', lock) == 0 then
  holder = false
end
if revocation then
-- read_revocation: reads what Revoke, Steal or an adoption noted about an id. Straight code.
-- needs: revocation, id, and these declared, which it sets
-- gives: ending ('revoked', 'stolen', 'adopted' or nil), reason
local mark = redis.call('GETRANGE', revocation, '0', '1023')
if mark ~= '' then
  local word, whose = string.match(mark, '^(%a+) (.*)$')
  if whose and string.sub(whose, 1, #id + 1) == id .. '|' then -- an id has one bar, and no other id begins with it
    ending, reason = word, string.sub(whose, #id + 2)
  end
end
end
if ending == 'stolen' then return {'stolen', reason} end
if holder ~= id then return {'lost', holder or '', 0} end
if ending == 'revoked' then return {'revoked', reason} end
return {'ours', redis.call('PTTL', lock)}
