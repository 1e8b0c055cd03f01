package mutation

// Clocks of servers that step.
var _ = table([]mutation{
	{what: "shared: a clock step within a script keeps the expiry of the lock key", pkg: "./test/faults/wallclock", name: "TestStepWithinAScript",
		in: "internal/script/part/shared_hand_over.lua", edits: []string{"redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((latest - us) / 1000)))", ""}},
	{what: "shared: a clock step within a script keeps the kind of the lock key", pkg: "./test/faults/wallclock", name: "TestStepWithinAScript",
		in: "internal/script/part/shared_hand_over.lua", edits: []string{"string.format('%.0f', us), 'kind', kind, 'capacity', string.format('%.0f', capacity)", "string.format('%.0f', us)"}},
	{what: "lock: a clock step longer than the queue's life is no error", pkg: "./test/faults/wallclock", name: "TestStepLongerThanAQueueLives",
		in: "internal/script/mutex/lock.lua", edits: []string{"redis.call('ZRANK', queue, id) or 0", "redis.call('ZRANK', queue, id)"}},
	{what: "shared_lock: a clock step longer than the queue's life is no error", pkg: "./test/faults/wallclock", name: "TestStepLongerThanAQueueLives",
		in: "internal/script/shared/lock.lua", edits: []string{"redis.call('ZRANK', queue, id) or 0", "redis.call('ZRANK', queue, id)"}},
	{what: "cooldown: a clock step longer than the queue's life is no error", pkg: "./test/faults/wallclock", name: "TestStepLongerThanAQueueLives",
		in: "internal/script/mutex/cooldown.lua", edits: []string{"or 0,", ","}},
	{what: "clock: a synctest bubble has its own clock", pkg: "./embedded", name: "TestRenewedInABubble",
		in: "internal/clock suspendAware", edits: []string{"InBubble()", "false"}},
})
