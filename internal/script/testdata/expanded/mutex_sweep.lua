-- sweep, SHA 5fd47ec222f295e46cc2f05602eb257b73e014bf, of the text behind the empty line

-- sweep: deletes all keys of a name that was made for a trial.
-- KEYS lock fence queue
-- ARGV -
-- answers swept
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
return {'swept'}
