package mutation

// Survey, again and hand-over.
var _ = table([]mutation{
	{what: "hand-over: dead waiters are skipped", name: "TestDeadWaitersInFront",
		in: "internal/script/part/survey_queue.lua", edits: []string{"lives(id, counts[2 * i], tolerant)", "true"}},
	{what: "hand-over: the id that asks needs no listener", name: "TestAskingNeedsNoListener",
		in: "internal/script/part/survey_queue.lua", edits: []string{"id == mine or", ""}},
	{what: "hand-over: the id that gives up gets nothing", name: "TestGivingUpGetsNothing",
		in: "internal/script/part/survey_queue.lua", edits: []string{"id ~= gone and", ""}},
	{what: "hand-over: it stops after 500 dead", name: "TestFiveHundredDeadAtATime",
		in: "internal/script/part/survey_queue.lua", edits: []string{"more = #dead == {{batch}}", "more = false"}},
	{what: "hand-over: a script that stops there says so", name: "TestStealPastTheDead",
		in: "internal/script/part/retry_after_removal.lua", edits: []string{"end return {'again', us}", "end"}},
	{what: "hand-over: the id that unlock queues counts", name: "TestReleaseQueuesAndCounts",
		in: "internal/script/mutex/unlock.lua", edits: []string{"waiting = waiting + inserted end", "end"}},
	{what: "hand-over: unlock answers the place in the queue", name: "TestPlaceAfterQueueingAgain",
		in: "internal/script/mutex/unlock.lua", edits: []string{"left - 1", "left"}},
	{what: "lock: a ttl of centuries can be read", pkg: "./test/client", name: "TestForeignTTLOfCenturies",
		in: "internal/script/mutex/lock.lua", edits: []string{"math.min(redis.call('PTTL', lock), {{longest_pttl_ms}})", "redis.call('PTTL', lock)"}},
	{what: "rule 7: cooldown notices that its fresh id has no listener", name: "TestCoolDownIsNoSilence",
		in: "internal/script/mutex/cooldown.lua", edits: []string{"pushed = fresh, id, true", "pushed = '', id, true"}},
	{what: "rule 7: unlock notices that its fresh id has no listener", name: "TestForgottenWhenItQueuesAgain",
		in: "internal/script/part/survey_queue.lua", edits: []string{"(counts[2 * #ids + 2] or 0) > 0 and '1' or '0'", "'1'"}},
})
