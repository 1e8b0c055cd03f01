-- once_begin, SHA 62e6544f2a9f32784eb09560ff0166b9a43307cc, of the text behind the empty line

-- once_begin: notes that a run has begun, unless a newer one has, or the name has a schedule.
-- KEYS lock once
-- ARGV token, owner, ttl of the record in ms
-- answers noted (time), newer (time), scheduled (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, once, token = KEYS[1], KEYS[2], ARGV[1]

local record = redis.call('GETRANGE', once, '0', '1023')
local stored = record
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
if string.find(record, '^%d+%.%d+%.%d+%.') then return {'scheduled', us} end
local newest = tonumber(string.match(record, '^(%d+)%.') or '0')
if newest > tonumber(token) then return {'newer', us} end
if newest < tonumber(token) then
  redis.call('SET', once, string.format('%s.%.0f.0|%s|', token, us, ARGV[2]), 'PX', ARGV[3])
end
return {'noted', us}
