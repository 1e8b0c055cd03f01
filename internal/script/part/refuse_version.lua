-- refuse_version: ends the script before its first write if another version of the protocol wrote stored.
-- Straight code.
-- needs: lock, stored (nil or false: there is none)
local version = string.match(string.sub(stored or '', 1, {{text_end}}), '^v(%d+)|')
if version then return redis.error_reply('HOLDFAST version ' .. version .. ' of the protocol uses ' .. lock) end
