package mutants

// removalMutants are what a call waits for whose context has ended.
var removalMutants = []mutant{
	{guard: "goodbye: a call waits until nothing of it is left", file: "enter.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"client.awaitRemovals(left)", "_ = left"}},
	{guard: "goodbye: but not for long", file: "enter.go", name: "TestAWaitReturnsInTime",
		edits: []string{"longestRemoval = 20 *", "longestRemoval = 200 *"}},
	{guard: "goodbye: several names have one bound together", file: "enter.go", name: "TestMultiGivesUpInTime",
		edits: []string{"if w.removals == nil {", "if true {"}},
	{guard: "goodbye: a lock in flight counts", file: "internal/machine/release.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{" || t.openLocks > 0", ""}},
	{guard: "goodbye: its cancel is answered", file: "internal/machine/release.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"c != nil && !c.answered", "c != nil && false"}},
	{guard: "goodbye: what an unlock queues counts", file: "internal/machine/name.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"case t.phase == releasing && t.successor != nil:", "case false:"}},
	{guard: "goodbye: a grant that was not confirmed counts", file: "internal/machine/name.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"case t.phase == ended || t.phase == releasing:", "case t.phase == ended:"}},
}
