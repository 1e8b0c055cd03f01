-- journal_sums, SHA 282a9aee6fcd72ae364000cfec1d5a16af576191, of the text behind the empty line

-- journal_sums: reads the sums of the hours. Writes nothing.
-- KEYS sums
-- ARGV -
-- answers sums (then of each hour: hour since 1970; grants, losses, us waited in all and at most)
local answer = redis.call('HGETALL', KEYS[1])
table.insert(answer, 1, 'sums')
return answer
