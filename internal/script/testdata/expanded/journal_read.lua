-- journal_read, SHA 807df0631f6d82417e8a8219d836eb6dcc3f3d16, of the text behind the empty line

-- journal_read: reads a page of the journal and answers the entries of some names and of an event.
-- Writes nothing.
-- KEYS stream
-- ARGV first id, last id, 'back' for newest first, entries to look at, name or '', prefix of names
--   or '', event or ''
-- answers read (time, oldest id, newest id, entries looked at, id of the last of them; then of each
--   entry: id and ten fields, of at most 4,096 bytes)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local stream, name, prefix, event = KEYS[1], ARGV[5], ARGV[6], ARGV[7]
local fields = {'writer', 'seq', 'local', 'at', 'within', 'what', 'name', 'owner', 'token', 'more'}

local key, count, samples = stream, redis.call('XLEN', stream), 0
-- refuse_huge: ends the script if the members of a key are far longer than ours. Redis has no command
-- that reads a part of a member, and a copy of 490 MB stops the server for seconds. If the server refuses
-- MEMORY USAGE, the script goes on. Straight code.
-- needs: key; count: the number of its members; samples: how many of the first members count, 0: all
local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', samples)
if type(bytes) == 'number' and bytes > 1048576 + 1024 * count then
  return redis.error_reply('HOLDFAST ' .. key .. ' has texts that are too long: another program wrote them')
end
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
local page
if ARGV[3] == 'back' then
  page = redis.call('XREVRANGE', stream, ARGV[2], ARGV[1], 'COUNT', ARGV[4])
else
  page = redis.call('XRANGE', stream, ARGV[1], ARGV[2], 'COUNT', ARGV[4])
end
local answer = {'read', string.format('%.0f', us), oldest and oldest[1] or '', newest and newest[1] or '', #page, page[#page] and page[#page][1] or ''}
for _, entry in ipairs(page) do
  local value = {}
  for i = 1, #entry[2], 2 do value[entry[2][i]] = entry[2][i + 1] end
  local n = value.name or ''
  local named = n == '' or ((name == '' or n == name) and string.sub(n, 1, #prefix) == prefix)
  if named and (event == '' or event == value.what) then
    answer[#answer + 1] = entry[1]
    for _, f in ipairs(fields) do answer[#answer + 1] = string.sub(value[f] or '', 1, 4096) end
  end
end
return answer
