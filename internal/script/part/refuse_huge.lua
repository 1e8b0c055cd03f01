-- refuse_huge: ends the script if a key that it reads in pieces has pieces that are far longer than ours.
-- Redis has no command that reads a part of a member, and a copy of 490 MB stops the server for seconds.
-- A server or user that cannot tell is not asked again. Straight code.
-- needs: key; count, the members of the key; samples, how many of them are looked at from the front, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > {{huge}} + {{piece}} * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
