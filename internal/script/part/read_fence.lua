-- read_fence: reads the fence key and finds where the next token block would begin. Straight
-- code, no function: it stands on the uncontended path.
-- needs: lock, fence, us, and these declared, which it sets
-- gives: token_now, the clock in tokens; newest_token; pushed, the fence key's value if it ends with the
--   client that the newest grant was pushed to, else nil; base, the first token of a block; room, how
--   many it may have; size and top, the tokens in the block of a grant and the last of them
token_now = {{tokens_per_us}} * us
local mark = redis.call('GETRANGE', fence, '0', '{{text_end}}')
if mark == '' then mark = '0' end
newest_token = tonumber(mark)
if not newest_token then
  pushed, newest_token = mark, tonumber(string.match(mark, '^(%d+) [%w_-]+$') or '')
end
if not newest_token or newest_token >= {{max_token}} - 1 or not pushed and not string.find(mark, '^%d+$') then -- the last there is
  local stored = mark
  -- include part/refuse_version.lua
  return redis.error_reply('HOLDFAST the fence key ' .. fence .. ' holds no token')
end
base = math.max(newest_token + 1, token_now)
room = math.max(1, token_now + {{tokens_per_s}} - base + 1) -- never more than 1 s ahead
size = math.min({{token_block}}, room)
top = base + size - 1
