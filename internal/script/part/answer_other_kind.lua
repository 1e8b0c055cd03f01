-- answer_other_kind: ends the script of a mutex whose lock key is no string: with the kind that it is, or
-- with the error that said so.
-- needs: lock, holder
local kind, capacity = redis.pcall('HSTRLEN', lock, 'kind'), redis.pcall('HSTRLEN', lock, 'capacity')
if type(kind) == 'table' or type(capacity) == 'table' or math.max(kind, capacity) > {{text_end}} then return holder end
local is = redis.pcall('HMGET', lock, 'kind', 'capacity')
if is.err or not is[1] then return holder end
return {'other kind', is[1], is[2] or 0}
