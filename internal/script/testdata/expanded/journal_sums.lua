-- journal_sums, SHA 81bb0b60d348b05017b5abda332f14705351acb4, of the text behind the empty line

-- journal_sums: reads the sums of the hours. Writes nothing.
-- KEYS sums
-- ARGV -
-- answers sums (then of each hour: hour since 1970; grants, losses, us waited in all and at most)
local key, count, samples = KEYS[1], redis.call('HLEN', KEYS[1]), 0
if count > 10000 then return redis.error_reply('HOLDFAST ' .. KEYS[1] .. ' has too many fields: another program filled it') end
-- refuse_huge: ends the script if the members of a key are far longer than ours. Redis has no command
-- that reads a part of a member, and a copy of 490 MB stops the server for seconds. If the server refuses
-- MEMORY USAGE, the script goes on. Straight code.
-- needs: key; count: the number of its members; samples: how many of the first members count, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > 1048576 + 1024 * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
local all, answer = redis.call('HGETALL', KEYS[1]), {'sums'}
for i = 1, #all, 2 do
  if #all[i] + #all[i + 1] <= 1023 then -- else another program wrote it
    answer[#answer + 1], answer[#answer + 2] = all[i], all[i + 1]
  end
end
return answer
