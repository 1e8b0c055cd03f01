-- shared_notify: finds which clients of the shared kinds listen, and notifies them. Functions.
-- needs: lock, suffix, queue, shared_ids.lua   gives: refused, channel, listeners, publish, and notify_front

local refused = '' -- what the server said when it refused to publish

local function channel(id)
  if #id > {{text_end}} then return '' end
  local client, ttl, rest = string.match(id, '^([%w_-]+)%.[%w_-]+%.([1-9]%d*)([.|])')
  if not client or #ttl > 9 or rest == '.' and (weight_of(id) or 0) < 1 then return '' end -- no id, or no script can use it
  local to = 'holdfast/push:' .. client .. suffix
  return to
end

-- listeners asks about many ids at once. The number of listeners of the id at i
-- stands at 2 i. An id of another version of the protocol is an error.
local function listeners(ids)
  local names = {}
  for i, id in ipairs(ids) do
    names[i] = channel(id)
    local version = names[i] == '' and string.match(string.sub(id, 1, {{text_end}}), '^v(%d+)|')
    if version then error('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock, 0) end
  end
  return redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB', unpack(names))
end

local function publish(id, message)
  local to = channel(id)
  if to == '' then return 0 end -- no id of ours
  local sent = redis.pcall(suffix == '' and 'PUBLISH' or 'SPUBLISH', to, message .. id)
  if type(sent) ~= 'table' then return sent end
  refused = sent.err
  return 0
end

-- include part/notify_front.lua
