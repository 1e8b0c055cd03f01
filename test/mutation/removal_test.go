package mutation

// removalMutants are what a call waits for whose context has ended.
var removalMutants = []mutant{
	{guard: "give up: the call waits until Redis stores nothing of it", file: "internal/engine/acquire.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"e.AwaitRemovals(Removals{left})", "_ = left"}},
	{guard: "give up: it waits only briefly", file: "internal/engine/engine.go", name: "TestAWaitReturnsInTime",
		edits: []string{"longestRemoval = 20 *", "longestRemoval = 200 *"}},
	{guard: "give up: the names of a Multi share one time limit", file: "internal/engine/acquire.go", name: "TestMultiGivesUpInTime",
		edits: []string{"if l.Removals != nil {", "if false {"}},
	{guard: "give up: it waits for a pending lock", file: "internal/machine/release.go", pkg: "./internal/machine", name: "TestRuleGivenUpIsCancelled",
		edits: []string{" || t.openLocks > 0", ""}},
	{guard: "give up: it waits for the answer to the cancel", file: "internal/machine/release.go", pkg: "./internal/machine", name: "TestRuleGivenUpIsCancelled",
		edits: []string{"c != nil && !c.answered", "c != nil && false"}},
	{guard: "give up: it waits for the id that an unlock queues", file: "internal/machine/name.go", pkg: "./internal/machine", name: "TestRuleGivenUpIsCancelled",
		edits: []string{"case t.phase == releasing && t.successor != nil:", "case false:"}},
	{guard: "give up: it waits for a grant that was not confirmed", file: "internal/machine/name.go", pkg: "./internal/machine", name: "TestRuleWaitReplicas",
		edits: []string{"case t.phase == ended || t.phase == releasing:", "case t.phase == ended:"}},
}
