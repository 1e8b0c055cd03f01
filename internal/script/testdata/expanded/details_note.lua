-- details_note, SHA 089210bcab9b75f61fe157545a689fb11f986c9b, of the text behind the empty line

-- details_note: writes the process details that a client shows to people, or removes them.
-- KEYS details
-- ARGV the text, or '' to remove it; its ttl in ms
-- answers noted
redis.call('TIME')
if ARGV[1] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return {'noted'}
