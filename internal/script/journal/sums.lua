-- journal_sums: reads the sums of the hours. Writes nothing.
-- KEYS sums
-- ARGV -
-- answers sums (then of each hour: hour since 1970; grants, losses, us waited in all and at most)
local key, count, samples = KEYS[1], redis.call('HLEN', KEYS[1]), 0
if count > {{most_fields}} then return redis.error_reply('HOLDFAST ' .. KEYS[1] .. ' has too many fields: another program filled it') end
-- include part/refuse_huge.lua
local all, answer = redis.call('HGETALL', KEYS[1]), {'sums'}
for i = 1, #all, 2 do
  if #all[i] + #all[i + 1] <= {{text_end}} then -- else another program wrote it
    answer[#answer + 1], answer[#answer + 2] = all[i], all[i + 1]
  end
end
return answer
