-- details_note: notes what a client tells people of its process, or takes it away.
-- KEYS D
-- ARGV the text, or '' to take it away; its life in ms
redis.call('TIME')
if ARGV[1] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return {'noted'}
