-- sweep: deletes all that stands in the keys of a name that was made for a trial.
-- KEYS L F Q
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
return {'swept'}
