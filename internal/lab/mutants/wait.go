package main

// waitMutants are how long a waiter waits, and how often it asks.
var waitMutants = []mutant{
	{guard: "wait: 50 ms for each in front, however many", file: "ask.go", name: "TestCrashWithManyWaiters",
		edits: []string{"time.Duration(min(a.position, int64(lookLongest/lookEach)))*lookEach", "(time.Duration(min(a.position, 16))*lookEach+time.Duration(max(a.position-16, 0))*window)"}},
	{guard: "wait: so does who comes after a crash", file: "ask.go", name: "TestComesAfterACrash",
		edits: []string{"time.Duration(min(a.position, int64(lookLongest/lookEach)))*lookEach", "(time.Duration(min(a.position, 16))*lookEach+time.Duration(max(a.position-16, 0))*window)"}},
	{guard: "wait: a lost queue is found again in time", file: "ask.go", name: "TestQueueIsLost",
		edits: []string{"time.Duration(min(a.position, int64(lookLongest/lookEach)))*lookEach", "(time.Duration(min(a.position, 16))*lookEach+time.Duration(max(a.position-16, 0))*window)"}},
	{guard: "wait: without pushes 250 ms for each in front", file: "ask.go", name: "TestForeignHolderWithManyWaiters",
		edits: []string{"const longest = 250 * time.Millisecond", "const longest = 2500 * time.Millisecond"}},
	{guard: "wait: later the further back", file: "ask.go", pkg: ".", name: "TestManyWaitersAskSeldom",
		edits: []string{"lookEach    = 50 * time", "lookEach    = 25 * time"}},
	{guard: "wait: polls are spread by the place, too", file: "ask.go", pkg: ".", name: "TestManyWaitersPollSeldom",
		edits: []string{"int64(lookLongest/longest)", "600"}},
	{guard: "too slow: only where late grants follow each other", file: "ask.go", name: "TestPausedTwiceIsNotTooSlow",
		edits: []string{"now.sub(t.late) <= l.c.options.retryWindow()", "true", "return follows && !g.pushed", "return follows", "t.score, t.late = queued, true, a.score, 0", "t.score = queued, true, a.score"}},
	{guard: "too slow: not long after each other", file: "ask.go", name: "TestSlowNowAndThenIsNotTooSlow",
		edits: []string{"now.sub(t.late) <= l.c.options.retryWindow()", "true"}},
}
