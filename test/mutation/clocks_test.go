package mutation

// clockMutants are the guards against clocks of servers that step.
var clockMutants = []mutant{
	{guard: "shared: a clock step within a script keeps the expiry of the lock key", file: "internal/script/part/shared_hand_over.lua", pkg: "./test/faults/wallclock", name: "TestStepWithinAScript",
		edits: []string{"    redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((latest - us) / 1000)))\n", ""}},
	{guard: "shared: a clock step within a script keeps the kind of the lock key", file: "internal/script/part/shared_hand_over.lua", pkg: "./test/faults/wallclock", name: "TestStepWithinAScript",
		edits: []string{"string.format('%.0f', us), 'kind', kind, 'capacity', string.format('%.0f', capacity))", "string.format('%.0f', us))"}},
	{guard: "lock: a clock step longer than the queue's life is no error", file: "internal/script/mutex/lock.lua", pkg: "./test/faults/wallclock", name: "TestStepLongerThanAQueueLives",
		edits: []string{"redis.call('ZRANK', queue, id) or 0 end", "redis.call('ZRANK', queue, id) end"}},
	{guard: "shared_lock: a clock step longer than the queue's life is no error", file: "internal/script/shared/lock.lua", pkg: "./test/faults/wallclock", name: "TestStepLongerThanAQueueLives",
		edits: []string{"redis.call('ZRANK', queue, id) or 0", "redis.call('ZRANK', queue, id)"}},
	{guard: "cooldown: a clock step longer than the queue's life is no error", file: "internal/script/mutex/cooldown.lua", pkg: "./test/faults/wallclock", name: "TestStepLongerThanAQueueLives",
		edits: []string{"redis.call('ZRANK', queue, fresh) or 0", "redis.call('ZRANK', queue, fresh)"}},
	{guard: "clock: a synctest bubble has its own clock", file: "internal/clock/clock_linux.go", pkg: "./embedded", name: "TestRenewedInABubble",
		edits: []string{"if InBubble() {", "if false {"}},
}
