package main

// attackMutants are guards that were missing, and the scenes by which that was found.
var attackMutants = []mutant{
	{guard: "shared: what others live is not cut", file: "internal/script/shared_lock.lua", name: "TestSharedAskedAgainWithoutL",
		edits: []string{", redis.call('PTTL', H))", ")"}},
	{guard: "a dead waiter of another kind is nothing", file: "internal/script/wake.lua", name: "TestDeadWaiterOfASemaphore",
		edits: []string{"(count > 0 or not letter)", "true"}},
	{guard: "another kind keeps nobody from giving back", file: "internal/script/wake.lua", name: "TestGivenUpBesideASemaphore",
		edits: []string{"if not tolerant and", "if"}},
	{guard: "a share given back is no resignation", file: "lease.go", name: "TestSharedTermStaysKnown",
		edits: []string{"if l.turn.ended.Load() != nil { // else others share it", "if true { // else others share it"}},
	{guard: "a key of another kind is lost", file: "internal/script/renew.lua", name: "TestKeyIsAnotherKindNow",
		edits: []string{"if string.find(holder.err, 'WRONGTYPE', 1, true) then", "if false then"}},
	{guard: "shared: what is not ours is not deleted", file: "internal/script/shared_renew.lua", name: "TestSharedLateRenewalOfAnotherProgramsHash",
		edits: []string{"not kind.err and (kind[1] or redis.call('PTTL', L) == -2)", "not kind.err"}},
	{guard: "fence: no token that no lease has", file: "fence/http.go", pkg: "./fence", name: "TestHandler",
		edits: []string{" || token >= 1<<53", ""}},
	{guard: "min hold: sure before a lease is shared", file: "mutex.go", name: "TestSharedMinHoldCrash",
		edits: []string{"if err != nil || sure {", "if sure = true; err != nil || sure {"}},
	{guard: "what is given up in the middle is cancelled", file: "line.go", name: "TestEndsInTheMiddle",
		edits: []string{"if t.mayStand() {\n\t\tl.c.cancelID(t.id, l, now)", "if false {\n\t\tl.c.cancelID(t.id, l, now)"}},
	{guard: "once: over before it began", file: "once.go", name: "TestOnceOverBeforeItBegan",
		edits: []string{"if lost := lease.Err(); lost != nil { // writing", "if lost := lease.Err(); lost != nil && false { // writing"}},
	{guard: "a master that became a replica before WAIT is no error", file: "errors.go", name: "TestGrantConfirmedByWhoIsMasterNoMore",
		edits: []string{`"non local key", demotedWhileWaiting}`, `"non local key"}`}},
}
