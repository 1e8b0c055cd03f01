-- refuse_huge: ends the script if the members of a key are far longer than ours. Redis has no command
-- that reads a part of a member, and a copy of 490 MB stops the server for seconds. If the server refuses
-- MEMORY USAGE, the script goes on. Straight code.
-- needs: key; count: the number of its members; samples: how many of the first members count, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > {{huge}} + {{piece}} * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
