-- quorum_guard: whether this server is a node of the quorum that is meant, and
-- whether it may have forgotten something. Writes nothing: who includes it
-- writes marker where restarted is true.
-- needs: M, us, quorum   gives: run, restarted, marker, till
-- include part/quorum_run_id.lua
local run_before, till, mark = string.match(redis.call('GET', M) or '', '^(%x+):(%d+):(.+)$')
if mark ~= quorum then return {'no member', mark or '', us, run} end
till = tonumber(till)
local restarted = run_before ~= run or till > us + 60000000 -- nobody sits out longer: the clock was set back
if restarted then till = us + 60000000 end -- whatever it forgot is over then
local marker = string.format('%s:%.0f:%s', run, till, quorum)
