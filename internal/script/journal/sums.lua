-- journal_sums: reads the sums of the hours. Writes nothing.
-- KEYS sums
-- ARGV -
-- answers sums (then of each hour: hour since 1970; grants, losses, us waited in all and at most)
local answer = redis.call('HGETALL', KEYS[1])
table.insert(answer, 1, 'sums')
return answer
