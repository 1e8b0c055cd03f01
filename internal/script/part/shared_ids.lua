-- shared_ids: what ids of the shared kinds say, and how they stand in H. Functions.
local kinds = {s = 'semaphore', r = 'rwmutex', w = 'rwmutex'}
local function kind_of(id) return kinds[string.match(id, '%.(%a)%d+|') or ''] or 'mutex' end
local function weight_of(id) return tonumber(string.match(id, '%.%a(%d+)|') or '') end
local function client_of(id) return string.match(id, '^[^.]*') end
local function ttl_of(id) return tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.') or '') end

-- Who weighs 1 is light: it stands in H by the end of its time and LIGHT, the
-- others by the end alone. So the light are counted and only the others weighed,
-- and no id can be both.
local LIGHT = 4503599627370496 -- 2^52 us, the year 2112; twice that is still exact
local function score_of(id, over) return string.format('%.0f', weight_of(id) == 1 and over + LIGHT or over) end
local function over_of(score) -- the end of one's time; 0 where it is not in H
  score = tonumber(score) or 0
  return score < LIGHT and score or score - LIGHT
end
