package mutants

// removalMutants are what a call waits for whose context has ended.
var removalMutants = []mutant{
	{guard: "goodbye: a call waits until nothing of it is left", file: "internal/engine/acquire.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"e.AwaitRemovals(Removals{left})", "_ = left"}},
	{guard: "goodbye: but not for long", file: "internal/engine/engine.go", name: "TestAWaitReturnsInTime",
		edits: []string{"longestRemoval = 20 *", "longestRemoval = 200 *"}},
	{guard: "goodbye: several names have one bound together", file: "internal/engine/acquire.go", name: "TestMultiGivesUpInTime",
		edits: []string{"if l.Removals != nil {", "if false {"}},
	{guard: "goodbye: a lock in flight counts", file: "internal/machine/release.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{" || t.openLocks > 0", ""}},
	{guard: "goodbye: its cancel is answered", file: "internal/machine/release.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"c != nil && !c.answered", "c != nil && false"}},
	{guard: "goodbye: what an unlock queues counts", file: "internal/machine/name.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"case t.phase == releasing && t.successor != nil:", "case false:"}},
	{guard: "goodbye: a grant that was not confirmed counts", file: "internal/machine/name.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"case t.phase == ended || t.phase == releasing:", "case t.phase == ended:"}},
}
