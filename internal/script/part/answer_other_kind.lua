-- other_kind: what a mutex is told where L is no string: which kind it is, or the
-- error that said so.
-- needs: L, holder
local is = redis.pcall('HMGET', L, 'kind', 'capacity')
if is.err or not is[1] then return holder end
return {'other kind', is[1], is[2] or 0}
