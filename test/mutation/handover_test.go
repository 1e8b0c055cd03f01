package mutation

// handoverMutants are the guards of survey, again and hand-over.
var handoverMutants = []mutant{
	{guard: "hand-over: dead waiters are skipped", file: "internal/script/part/survey_queue.lua", name: "TestDeadWaitersInFront",
		edits: []string{"lives(id, counts[2 * i], tolerant)", "true"}},
	{guard: "hand-over: the id that asks needs no listener", file: "internal/script/part/survey_queue.lua", name: "TestAskingNeedsNoListener",
		edits: []string{"id == mine or ", ""}},
	{guard: "hand-over: the id that gives up gets nothing", file: "internal/script/part/survey_queue.lua", name: "TestGivingUpGetsNothing",
		edits: []string{"id ~= gone and ", ""}},
	{guard: "hand-over: it stops after 500 dead", file: "internal/script/part/survey_queue.lua", name: "TestFiveHundredDeadAtATime",
		edits: []string{"more = #dead == {{batch}}", "more = false"}},
	{guard: "hand-over: a script that stops there says so", file: "internal/script/part/retry_after_removal.lua", name: "TestStealPastTheDead",
		edits: []string{"  return {'again', us}\n", ""}},
	{guard: "hand-over: the id that unlock queues counts", file: "internal/script/mutex/unlock.lua", name: "TestReleaseQueuesAndCounts",
		edits: []string{"    waiting = waiting + inserted\n", ""}},
	{guard: "hand-over: unlock answers the place in the queue", file: "internal/script/mutex/unlock.lua", name: "TestPlaceAfterQueueingAgain",
		edits: []string{"rank, poll = chosen, left - 1,", "rank, poll = chosen, left,"}},
	{guard: "lock: a ttl of centuries can be read", file: "internal/script/mutex/lock.lua", pkg: "./test/client", name: "TestForeignTTLOfCenturies",
		edits: []string{"math.min(redis.call('PTTL', lock), {{longest_pttl_ms}})", "redis.call('PTTL', lock)"}},
	{guard: "rule 7: cooldown notices that its fresh id has no listener", file: "internal/script/mutex/cooldown.lua", name: "TestCoolDownIsNoSilence",
		edits: []string{"local mine, gone, tolerant, pushed = fresh,", "local mine, gone, tolerant, pushed = '',"}},
	{guard: "rule 7: unlock notices that its fresh id has no listener", file: "internal/script/part/survey_queue.lua", name: "TestForgottenWhenItQueuesAgain",
		edits: []string{"(counts[2 * #ids + 2] or 0) > 0 and '1' or '0'", "'1'"}},
}
