-- shared_keep_size: keeps the size of a semaphore, so that it outlives the holders: for 30 days from each use
-- if shared_resize has set it; else as long as the token. Such a size begins with 0.
-- Straight code, behind a write that full memory does refuse, if the lock key is new.
-- needs: size_key (or nil), capacity, size_text (what the key holds; nil: it was not read), mine, memory_of
if size_key then
  local text, size_ttl = size_text or redis.call('GETRANGE', size_key, '0', '{{text_end}}'), '{{size_ttl_ms}}'
  if string.find(text, '^0') or text == '' then
    local memory = mine ~= '' and memory_of(mine)
    size_ttl = memory and string.format('%.0f', math.max(redis.call('PTTL', size_key), memory + {{ahead_ms}})) or '{{fence_ttl_ms}}'
  end
  if redis.call('PEXPIRE', size_key, size_ttl) == 0 then
    redis.call('SET', size_key, string.format('0%.0f', capacity), 'PX', size_ttl)
  end
end
