-- values: reads how the values of lock keys begin. Writes nothing.
-- KEYS lock of each name
-- ARGV the most bytes of each value
-- answers values (per name: '=' and the beginning of its value, or '' if it has no string)
local answer = {'values'}
for i, lock in ipairs(KEYS) do
  local value = redis.pcall('GETRANGE', lock, '0', ARGV[1] - 1)
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
    value = false
  elseif value == '' and redis.call('PTTL', lock) == -2 then
    value = false
  end
  answer[i + 1] = value and '=' .. value or ''
end
return answer
