package mutants

// clockMutants are the guards against clocks of servers that step.
var clockMutants = []mutant{
	{guard: "shared: a step back within a script leaves L its expiry", file: "internal/script/part/shared_hand_over.lua", pkg: "./internal/lab/verify/wallclock", name: "TestStepWithinAScript",
		edits: []string{"    redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((latest - us) / 1000)))\n", ""}},
	{guard: "shared: and its kind", file: "internal/script/part/shared_hand_over.lua", pkg: "./internal/lab/verify/wallclock", name: "TestStepWithinAScript",
		edits: []string{"string.format('%.0f', us), 'kind', kind, 'capacity', string.format('%.0f', capacity))", "string.format('%.0f', us))"}},
	{guard: "lock: a step longer than a line lives is no error", file: "internal/script/mutex/lock.lua", pkg: "./internal/lab/verify/wallclock", name: "TestStepLongerThanAQueueLives",
		edits: []string{"redis.call('ZRANK', queue, id) or 0 end", "redis.call('ZRANK', queue, id) end"}},
	{guard: "shared_lock: a step longer than a line lives is no error", file: "internal/script/shared/lock.lua", pkg: "./internal/lab/verify/wallclock", name: "TestStepLongerThanAQueueLives",
		edits: []string{"redis.call('ZRANK', queue, id) or 0", "redis.call('ZRANK', queue, id)"}},
	{guard: "rest: a step longer than a line lives is no error", file: "internal/script/mutex/cooldown.lua", pkg: "./internal/lab/verify/wallclock", name: "TestStepLongerThanAQueueLives",
		edits: []string{"redis.call('ZRANK', queue, fresh) or 0", "redis.call('ZRANK', queue, fresh)"}},
	{guard: "clock: that of the bubble", file: "internal/clock/clock_linux.go", pkg: "./embedded", name: "TestRenewedInABubble",
		edits: []string{"if InBubble() {", "if false {"}},
}
