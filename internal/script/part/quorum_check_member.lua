-- quorum_check_member: ends the script unless this server is a node of the quorum that is meant, and finds
-- whether it may have forgotten something. It writes nothing: where restarted is true, the script
-- that includes it writes marked.
-- needs: marker, us, quorum   gives: run, restarted, marked, till
-- include part/quorum_run_id.lua
local run_before, till, mark = string.match(redis.call('GETRANGE', marker, '0', '{{text_end}}'), '^(%x+):(%d+):(.+)$')
if mark ~= quorum then return {'no member', mark or '', us, run} end
till = tonumber(till)
local restarted = run_before ~= run or till > us + {{quorum_ttl_us}} -- no node refuses votes for longer: the clock was set back
if restarted then till = us + {{quorum_ttl_us}} end -- what it forgot has expired then
local marked = string.format('%s:%.0f:%s', run, till, quorum)
