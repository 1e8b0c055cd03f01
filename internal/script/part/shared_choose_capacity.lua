-- shared_choose_capacity: finds which capacity counts: the lock key's while anybody holds, else the stored size of
-- a semaphore, else the request's. Writes nothing. Straight code.
-- needs: seen of shared_read_state.lua, size_key (or nil), capacity, which it sets
-- gives: differs, what stands before an answer if another size than the request's counts; size_text, what the
--   size key holds; nil: it was not read
local size_text = not seen[2] and size_key and redis.call('GETRANGE', size_key, '0', '{{text_end}}') or nil
local stored, differs = tonumber(seen[2] or size_text or ''), ''
if stored and stored >= 1 and stored <= {{max_size}} and stored ~= capacity then
  capacity = stored
  differs = string.format('sized %.0f ', capacity)
end
