package main

// yieldMutants are the guards that let a waiter of another process in on a quorum.
var yieldMutants = []mutant{
	{guard: "yield: who has released leaves the name alone", file: "line.go", name: "TestQuorumLoopYields",
		edits: []string{"l.askAt = m.candidate, apart, c.quorum.yieldsUntil(m.name)", "l.askAt = m.candidate, apart, 0"}},
	{guard: "yield: also where other callers stand here", file: "quorum_renew.go", name: "TestQuorumServesWhoStoodInLine",
		edits: []string{"l.askAt = q.yields[l.name]", "l.askAt = 0"}},
	{guard: "yield: also by a TryLock", file: "line.go", name: "TestQuorumLoopYields",
		edits: []string{"l.candidate, l.apart, l.askAt = m.candidate, apart, c.quorum.yieldsUntil(m.name)", "l.candidate, l.apart = m.candidate, apart\n\t\tif !w.try {\n\t\t\tl.askAt = c.quorum.yieldsUntil(m.name)\n\t\t}"}},
	{guard: "yield: also behind a lease that was over", file: "hold.go", name: "TestQuorumLoopYields",
		edits: []string{"q.undo(t.id, l, true, now, t.gone())", "q.undo(t.id, l, false, now, t.gone())"}},
	{guard: "yield: a waiter marks the name", file: "internal/script/quorum_lock.lua", name: "TestQuorumLoopYields",
		edits: []string{"if not ours and comes >", "if false and comes >"}},
	{guard: "yield: a try marks nothing", file: "quorum_ballot.go", name: "TestQuorumLoneLoopDoesNotPause",
		edits: []string{"if l.callers.waits() {\n\t\targs[3]", "if true {\n\t\targs[3]"}},
	{guard: "yield: nor does the Client that holds", file: "internal/script/quorum_lock.lua", name: "TestQuorumLoneLoopDoesNotPause",
		edits: []string{"if not ours and comes >", "if comes >"}},
	{guard: "yield: its other lines are let in all the same", file: "quorum_yield.go", name: "TestQuorumCandidatesOfOneClientTakeTurns",
		edits: []string{"t != nil && t.line != l && l.callers.waits()", "t != nil && t.line == nil"}},
	{guard: "yield: a name that nobody wants is not left alone", file: "quorum_yield.go", name: "TestQuorumLoneLoopDoesNotPause",
		edits: []string{"if a.word != \"released\" || a.pttl <= 0 {", "if a.word != \"released\" {", "min(a.pttl, comesBackMost)", "comesBackMost"}},
	{guard: "yield: a foreign mark holds nobody up for long", file: "quorum_yield.go", name: "TestQuorumForeignMark",
		edits: []string{"min(a.pttl, comesBackMost)", "a.pttl"}},
	{guard: "yield: a mark is not cut short", file: "internal/script/quorum_lock.lua", pkg: "./internal/lab", name: "TestQuorumScriptWanted",
		edits: []string{"comes > redis.call('PTTL', wanted)", "comes > 0"}},
	{guard: "yield: full memory refuses the mark alone", file: "internal/script/quorum_lock.lua", pkg: "./internal/lab", name: "TestQuorumScriptFullMemory",
		edits: []string{"redis.pcall('SET', wanted", "redis.call('SET', wanted"}},
}
