-- revoke, SHA 2a10dca3614a470c45379896f4f4b76815a64206, of the text behind the empty line

-- revoke: asks the holder to stop. Its next renewal returns it, and a push asks it to renew now.
-- KEYS lock revocation
-- ARGV id, shard suffix, reason
-- answers notified (listeners, what the server said when it refused to publish), not held (holder, time)
redis.call('TIME')
local lock, revocation = KEYS[1], KEYS[2]
local id, suffix, reason = ARGV[1], ARGV[2], ARGV[3]
local holder = redis.call('GETRANGE', lock, '0', '1023')
if holder ~= id then
  return {'not held', holder, 0}
end
-- notify: finds which clients listen, and notifies them. Functions, so it is included behind
-- the uncontended path.
-- needs: lock, suffix   gives: refused, channel, listeners, lives, publish

local refused = '' -- what the server said when it refused to publish

-- channel is the channel of an id's client, or nil if the value is not the id of a
-- mutex tenure: it has another form, is too long, or has a ttl of 0 or of more
-- than 9 digits, which the scripts cannot use.
local channels = {}
local function channel(id)
  if not channels[id] and #id <= 1023 then
    local client, ttl = string.match(id, '^([%w_-]+)%.[%w_-]+%.([1-9]%d*)|')
    channels[id] = client and #ttl <= 9 and 'holdfast/push:' .. client .. suffix
  end
  return channels[id]
end

-- listeners asks about many ids at once, and about one more if that is not ''. The
-- number of listeners of the id at i stands at 2 i.
local function listeners(ids, more)
  local names = {}
  for i, id in ipairs(ids) do
    names[i] = channel(id) or 'holdfast/push:' .. (string.match(string.sub(id, 1, 1023), '^([%w_-]+)%.[%w_-]+%.%d+%.%a%d+|') or '') .. suffix
  end
  if more ~= '' then names[#names + 1] = channel(more) end
  return redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB', unpack(names))
end

-- lives reports whether a waiter with count listeners can get the name. A waiter of
-- another kind cannot: if it lives, that is an error, unless tolerant is set, as in a
-- release. Then it counts as dead. A waiter of another version is always an error.
local function lives(id, count, tolerant)
  if channel(id) then return count > 0 end
  local long = #id > 1023
  id = string.sub(id, 1, 1023)
  local version = string.match(id, '^v(%d+)|')
  if version then error('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock, 0) end
  if long or string.find(id, '^[%w_-]+%.[%w_-]+%.%d+|') then return false end -- another program's: see channel
  local letter = string.match(id, '%.(%a)%d+|')
  if not tolerant and (count > 0 or not letter) then
    error('HOLDFAST ' .. lock .. ' is waited for as ' .. (letter == 's' and 'a semaphore' or letter and 'an rwmutex'
      or 'another kind of lock') .. ', not as a mutex', 0)
  end
  return false
end

-- publish returns the number of listeners.
local function publish(id, message)
  local sent = redis.pcall(suffix == '' and 'PUBLISH' or 'SPUBLISH', channel(id), message .. id)
  if type(sent) == 'number' then return sent end
  if type(sent) == 'table' and sent.err then refused = sent.err end
  return 0
end
-- A holder that is not renewed may ask later than a ttl from now.
local ttl = string.match(id, '^[^.]+%.[^.]+%.(%d+)|')
local revocation_ttl = string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', lock)))
redis.call('PEXPIRE', revocation, revocation_ttl) -- first: full memory never refuses this, nor then what follows
redis.call('SET', revocation, 'revoked ' .. id .. '|' .. reason, 'PX', revocation_ttl)
return {'notified', publish(id, 'revoked '), refused}
