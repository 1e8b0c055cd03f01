-- shared_prolong_size: makes a size that shared_resize has not set live as long as the token, because the
-- holder's renewals prolong that. Straight code.
-- needs: fence_px; the size key is KEYS[6], or there is none
if KEYS[6] and redis.call('GETRANGE', KEYS[6], '0', '0') == '0' then redis.call('PEXPIRE', KEYS[6], fence_px) end
