package main

// attackMutants are guards that were missing, and the scenes by which that was found.
var attackMutants = []mutant{
	{guard: "shared: what others live is not cut", file: "internal/script/shared_lock.lua", name: "TestSharedAskedAgainWithoutL",
		edits: []string{", redis.call('PTTL', H))", ")"}},
	{guard: "a dead waiter of another kind is nothing", file: "internal/script/wake.lua", name: "TestDeadWaiterOfASemaphore",
		edits: []string{"(counts[2 * i] > 0 or not letter)", "true"}},
	{guard: "another kind keeps nobody from giving back", file: "internal/script/wake.lua", name: "TestGivenUpBesideASemaphore",
		edits: []string{"if not tolerant and", "if"}},
}
