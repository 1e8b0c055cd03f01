-- shared_notify: finds which clients of the shared kinds listen, and notifies them. Functions.
-- needs: lock, suffix, queue   gives: refused, channel, listeners, publish, and notify_front

local refused = '' -- what the server said when it refused to publish

local function channel(id)
  local client = string.match(id, '^([%w_-]+)%.[%w_-]+%.%d+[.|]')
  return client and 'holdfast/push:' .. client .. suffix or ''
end

-- listeners asks about many ids at once. The number of listeners of the id at i
-- stands at 2 i. An id of another version of the protocol is an error.
local function listeners(ids)
  local names = {}
  for i, id in ipairs(ids) do
    names[i] = channel(id)
    local version = names[i] == '' and string.match(id, '^v(%d+)|')
    if version then error('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock, 0) end
  end
  return redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB', unpack(names))
end

local function publish(id, message)
  local sent = redis.pcall(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), message .. id)
  if type(sent) ~= 'table' then return sent end
  refused = sent.err
  return 0
end

-- include part/notify_front.lua
