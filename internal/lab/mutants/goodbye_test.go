package mutants

// goodbyeMutants are what a call waits for whose context has ended.
var goodbyeMutants = []mutant{
	{guard: "goodbye: a call waits until nothing of it is left", file: "caller.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"client.awaitGone(left)", "_ = left"}},
	{guard: "goodbye: but not for long", file: "caller.go", name: "TestAWaitReturnsInTime",
		edits: []string{"longestGoodbye = 20 *", "longestGoodbye = 200 *"}},
	{guard: "goodbye: several names have one bound together", file: "caller.go", name: "TestMultiGivesUpInTime",
		edits: []string{"if w.left == nil {", "if true {"}},
	{guard: "goodbye: a lock in flight counts", file: "caller.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{" || g.tenure.open > 0", ""}},
	{guard: "goodbye: its cancel is answered", file: "caller.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"e != nil && !e.heard", "e != nil && false"}},
	{guard: "goodbye: what an unlock queues counts", file: "line.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"case t.phase == leaving && l.fresh != nil:", "case false:"}},
	{guard: "goodbye: a grant that was not confirmed counts", file: "line.go", name: "TestNothingIsLeftWhenAWaitReturns",
		edits: []string{"	case t.phase == leaving: // it was not", "	case false: // it was not"}},
}
