-- handover: gives L to the first waiter that has a listener. Functions, so it
-- is included after the uncontended path.
-- needs: L, F, Q, t, us, now, base, room, suffix

local refused = '' -- what the server said when it refused to publish

-- parse returns the client and the ttl in ms of an id, or nil when the value is
-- not the id of a mutex tenure.
local function parse(id)
  local client, life = string.match(id, '^([%w_-]+)%.[%w_-]+%.(%d+)|')
  return client, client and tonumber(life)
end

local function listening(id)
  local client = parse(id)
  if not client then
    error('HOLDFAST ' .. L .. ' is waited for as another kind of lock', 0)
  end
  return redis.call('PUBSUB', suffix == '' and 'NUMSUB' or 'SHARDNUMSUB',
    'holdfast/wake:' .. client .. suffix)[2] > 0
end

local function publish(id, message)
  local sent = redis.pcall(suffix == '' and 'PUBLISH' or 'SPUBLISH',
    'holdfast/wake:' .. parse(id) .. suffix, message)
  if type(sent) == 'table' and sent.err then refused = sent.err end
end

-- survey reads the line from its head and writes nothing. It returns the dead
-- that stand in front, the first id with a listener, the next one with a
-- listener, and whether it stopped after 500 dead. The id mine needs no
-- listener; the id gone counts as dead.
local function survey(mine, gone)
  local dead, chosen, from = {}, nil, 0
  while true do
    local ids = redis.call('ZRANGE', Q, from, from + 7)
    for _, id in ipairs(ids) do
      if id ~= gone and (id == mine or listening(id)) then
        if chosen then return dead, chosen, id, false end
        chosen = id
      else
        dead[#dead + 1] = id
        if #dead == 500 then return dead, chosen, nil, true end
      end
    end
    if #ids < 8 then return dead, chosen, nil, false end
    from = from + 8
  end
end

-- handover removes the dead, makes chosen the holder and tells it, unless it is
-- mine, whose request is being answered; then it tells the new head. Without a
-- chosen the name is free. Returns the life that L got in ms, the stride's size
-- and how many wait.
local function handover(dead, chosen, following, mine, asked)
  dead[#dead + 1] = chosen
  if #dead > 0 then redis.call('ZREM', Q, unpack(dead)) end
  if not chosen then
    redis.call('DEL', L)
    return 0, 0, 0
  end
  local _, px = parse(chosen)
  local size = asked
  if chosen ~= mine then px, size = math.min(px, 2000), 64 end
  size = math.min(size, room)
  local top = base + size - 1
  redis.call('SET', L, chosen, 'PX', px)
  -- include reserve.lua
  local left = redis.call('ZCARD', Q)
  if chosen ~= mine then
    publish(chosen, string.format('grant %.0f %d %.0f %d %d ', base, size, us, px, left) .. chosen)
  end
  if following and following ~= mine then
    publish(following, string.format('next %d ', px) .. following)
  end
  return px, size, left
end

-- granted is the answer to a request that got the name.
local function granted(size, left)
  return string.format('granted %.0f %d %d %s %s ', base + size - 1, size, left, t[1], t[2]) .. refused
end
