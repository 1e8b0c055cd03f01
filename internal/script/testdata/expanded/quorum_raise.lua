-- quorum_raise, SHA 0698e4b6bad340afb88b74f72bbc911d15523091, of the text behind the empty line

-- quorum_raise: reserves the majority's tokens on a node that gave a lower one, if the lock key still
-- holds the vote that was counted.
-- KEYS lock fence
-- ARGV id, the token that this node gave, the majority's token
-- answers raised (time, run), lost (holder, time, run)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local lock, fence = KEYS[1], KEYS[2]
local id, given, token = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- quorum_run_id: finds the server and its run. A server that does not show its run_id looks like any
-- other, so it can't be a node.
-- gives: run
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
if not run then
  return redis.error_reply('HOLDFAST this server does not tell its run_id (INFO server), so it can not be a node of a quorum')
end

-- read_holder: reads the holder. A value that is no string is not ours: another kind of lock has the
-- name by now, or another program its key. Straight code.
-- needs: lock; in most scripts ARGV[1] is the id of the holder, and then holder is a string
-- gives: holder: the value of the lock key, or the first 1,024 bytes of a longer one; '' if it is no
--   string, false if there is none
local holder = redis.pcall('GETRANGE', lock, '0', '1023')
if holder ~= ARGV[1] and type(holder) == 'table' then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  holder = ''
elseif holder == '' and redis.call('EXISTS', lock) == 0 then
  holder = false
end
if holder ~= id .. ':' .. given then
  return {'lost', holder or '', us, run}
end
-- quorum_read_fence: reads the fence key of a node.
-- needs: lock, fence, us   gives: token_now, newest_token
local token_now = 2 * us
local newest_token = redis.call('GETRANGE', fence, '0', '1023')
if newest_token == '' then newest_token = '0' end
if not string.find(newest_token, '^%d+$') or tonumber(newest_token) >= 9007199254740992 - 1 then -- the last there is
  local stored = newest_token
-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, 1023), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
  return redis.error_reply('HOLDFAST the fence key ' .. fence .. ' holds no token')
end
newest_token = tonumber(newest_token)

local top = token + 64 - 1
if newest_token < top then
  redis.call('SET', fence, string.format('%.0f', top), 'PX',
    string.format('%.0f', 86400000 + math.max(0, math.ceil((top - token_now) / 2000))))
end
return {'raised', us, run}
