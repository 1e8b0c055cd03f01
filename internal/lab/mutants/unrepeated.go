package main

// unrepeatedMutants are what Release has to know before it says that a lock was gone.
var unrepeatedMutants = []mutant{
	{guard: "unrepeated: a loss that is proved is told", file: "ask.go", pkg: "./embedded", name: "TestReleaseOfADeletedLock",
		edits: []string{"l.departed(l.wasGone(t, a), now)", "l.departed(nil, now)"}},
	{guard: "unrepeated: another's name is told as that", file: "ask.go", pkg: "./embedded", name: "TestReleaseOfATakenLock",
		edits: []string{"	if a.holder != \"\" {\n\t\treturn &LostError{Name: l.name, Cause: Taken}", "	if false {\n\t\treturn &LostError{Name: l.name, Cause: Taken}"}},
	{guard: "unrepeated: only where the store can promise it", file: "ask.go", pkg: "./embedded", name: "TestReleaseOfADeletedLock",
		edits: []string{"!l.c.unrepeated()", "false"}},
	{guard: "unrepeated: and nobody sent it before", file: "ask.go", pkg: "./embedded", name: "TestReleaseOfADeletedLock",
		edits: []string{"t.unlocks > 1", "false"}},
	{guard: "unrepeated: shared_unlock that says again has done it", file: "ask.go", pkg: "./embedded", name: "TestReleaseBesideTheDead",
		edits: []string{"if l.shared == nil {\n\t\t\tt.unlocks--", "if true {\n\t\t\tt.unlocks--"}},
	{guard: "unrepeated: unlock that says again has not", file: "ask.go", pkg: "./embedded", name: "TestReleaseBesideTheDead",
		edits: []string{"if l.shared == nil {\n\t\t\tt.unlocks--", "if false {\n\t\t\tt.unlocks--"}},
	{guard: "unrepeated: nor did the lock expire on the way", file: "ask.go", pkg: "./embedded", name: "TestReleaseThatRunsLate",
		edits: []string{"l.c.clock.look() >= t.ends()", "false"}},
	{guard: "unrepeated: a cancel may have released it", file: "request.go", pkg: "./embedded", name: "TestReleaseBehindACancel",
		edits: []string{"t.unlocks++ // it may", "_ = t // it may"}},
}
