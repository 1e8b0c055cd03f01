-- shared_ids: reads ids of the shared kinds, and their scores in the holders key. Functions.
-- needs: holders
local kinds = {s = 'semaphore', r = 'rwmutex', w = 'rwmutex'}
local function kind_of(id) return kinds[string.match(id, '^[^.|]+%.[^.|]+%.%d+%.(%a)%d+|') or ''] or 'mutex' end
local function weight_of(id) return tonumber(string.match(id, '^[^.|]+%.[^.|]+%.%d+%.%a(%d+)|') or '') end
local function client_of(id) return string.match(id, '^[^.]*') end
local function memory_of(id)
  local nonce, ttl = string.match(id, '^[^.]+%.([^.]+)%.(%d+)%.')
  -- include part/token_memory.lua
  return memory
end
local function ttl_of(id) return tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.') or '') end

-- An id that weighs 1 is light: its score is the end of its time plus LIGHT, that of
-- the others the end alone. So the light are counted and only the others weighed, and
-- no id can be both.
local LIGHT = {{light_us}} -- 2^52, the year 2112; twice that is still exact
local function score_of(id, expires) return string.format('%.0f', weight_of(id) == 1 and expires + LIGHT or expires) end
local function expiry_of(score) -- the end of a holder's time; 0 if it has none
  score = tonumber(score) or 0
  return score < LIGHT and score or score - LIGHT
end

-- A holder may have reduced its weight. One that weighs 1 now is above LIGHT; for each other
-- one the holders key has a second member, whose score is the weight, below zero.
local function reduced(id)
  local member = 'weight|' .. id
  return member
end
local function held_weight(id, score)
  if tonumber(score) >= LIGHT then return 1 end
  return -tonumber(redis.call('ZSCORE', holders, reduced(id)) or -weight_of(id))
end
