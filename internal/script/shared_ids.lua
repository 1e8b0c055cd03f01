-- shared_ids: what ids of the shared kinds say. Functions.
local kinds = {s = 'semaphore', r = 'rwmutex', w = 'rwmutex'}
local function kind_of(id) return kinds[string.match(id, '%.(%a)%d+|') or ''] or 'mutex' end
local function weight_of(id) return tonumber(string.match(id, '%.%a(%d+)|') or '') end
local function ttl_of(id) return tonumber(string.match(id, '^[^.]+%.[^.]+%.(%d+)%.') or '') end
