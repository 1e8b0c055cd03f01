-- wake: who listens, and how to tell them. Functions, so it is included after
-- the uncontended path.
-- needs: L, suffix

local refused = '' -- what the server said when it refused to publish

-- channel is the wake channel of an id, or nil when the value is not the id of a
-- mutex tenure.
local channels = {}
local function channel(id)
  if not channels[id] then
    local client = string.match(id, '^([%w_-]+)%.[%w_-]+%.%d+|')
    channels[id] = client and 'holdfast/wake:' .. client .. suffix
  end
  return channels[id]
end

-- listeners asks for many ids at once; what it returns says it of one of them. A
-- living waiter of another kind is an error, unless tolerant: to whoever gives the
-- name back it is dead, like one of another kind that is.
local function listeners(ids, tolerant)
  local names = {}
  for i, id in ipairs(ids) do
    names[i] = channel(id) or 'holdfast/wake:' .. (string.match(id, '^([%w_-]+)%.[%w_-]+%.%d+%.%a%d+|') or '') .. suffix
  end
  local counts = redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB', unpack(names))
  return function(i)
    if channel(ids[i]) then return counts[2 * i] > 0 end
    local letter = string.match(ids[i], '%.(%a)%d+|')
    if not tolerant and (counts[2 * i] > 0 or not letter) then
      error('HOLDFAST ' .. L .. ' is waited for as ' .. (letter == 's' and 'a semaphore' or letter and 'an rwmutex'
        or 'another kind of lock') .. ', not as a mutex', 0)
    end
    return false
  end
end

-- publish returns how many heard it.
local function publish(id, message)
  local sent = redis.pcall(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), message .. id)
  if type(sent) == 'number' then return sent end
  if type(sent) == 'table' and sent.err then refused = sent.err end
  return 0
end
