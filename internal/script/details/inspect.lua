-- details_look: what a client tells people of its process. Writes nothing.
-- KEYS D
redis.call('TIME')
return {'details', redis.call('GET', KEYS[1]) or ''}
