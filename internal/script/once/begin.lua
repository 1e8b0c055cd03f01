-- once_begin: notes that a run has begun, unless a newer one has, or the name has a schedule.
-- KEYS lock once
-- ARGV token, owner, ttl of the record in ms
-- answers noted (time), newer (time), scheduled (time)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, once, token = KEYS[1], KEYS[2], ARGV[1]

local record = redis.call('GETRANGE', once, '0', '{{text_end}}')
local stored = record
-- include part/refuse_version.lua
if string.find(record, '^%d+%.%d+%.%d+%.') then return {'scheduled', us} end
local newest = tonumber(string.match(record, '^(%d+)%.') or '0')
if newest > tonumber(token) then return {'newer', us} end
if newest < tonumber(token) then
  redis.call('SET', once, string.format('%s.%.0f.0|%s|', token, us, ARGV[2]), 'PX', ARGV[3])
end
return {'noted', us}
