-- quorum_read_fence: reads the fence key of a node.
-- needs: lock, fence, us   gives: token_now, newest_token
local token_now = {{tokens_per_us}} * us
local newest_token = redis.call('GETRANGE', fence, '0', '{{text_end}}')
if newest_token == '' then newest_token = '0' end
if not string.find(newest_token, '^%d+$') or tonumber(newest_token) >= {{max_token}} - 1 then -- the last there is
  local stored = newest_token
  -- include part/refuse_version.lua
  return redis.error_reply('HOLDFAST the fence key ' .. fence .. ' holds no token')
end
newest_token = tonumber(newest_token)
