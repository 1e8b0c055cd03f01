package mutation

// searchMutants are guards of the machine that the search of its states finds.
var searchMutants = []mutant{
	{guard: "search: a deadline is counted from before the request", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start: r.Sent, ttl: n.Kind.TTL", "start: now, ttl: n.Kind.TTL"}},
	{guard: "search: the start of a pushed grant is a bound from below", file: "internal/machine/subscriber.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start: t.pushStart(m.Server, s.sentAt, now), ttl", "start: now, ttl"}},
	{guard: "search: a request in flight does not count for that", file: "internal/machine/tenure.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start := max(t.firstSent, subscribed)\n", "start := max(t.firstSent, subscribed)\n\tif r := t.asking; r != nil {\n\t\tstart = max(start, r.Sent)\n\t}\n"}},
	{guard: "search: a lease that was over is not prolonged", file: "internal/machine/renew.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"case now >= t.Ends(): // never", "case false: // never"}},
	{guard: "search: a late granted answer is cancelled", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"case releasing, ended:\n\t\tp.cancelID(t.ID, n, now)\n", "case releasing, ended:\n"}},
	{guard: "search: a late queued answer is cancelled", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"\"again\"):\n\t\tn.p.cancelID(t.ID, n, now)", "\"again\"):\n\t\t_ = 0"}},
	{guard: "search: so it is while its id is released", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"return t.phase == releasing || t.phase == ended }", "return t.phase == ended }"}},
	{guard: "search: so it is if a lock failed that may run later", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"} else if t.givenBack() && !refused {\n\t\tn.p.cancelTenure(t, now)\n", "} else if t.givenBack() && !refused {\n"}},
	{guard: "search: an ended id that is pushed is cancelled", file: "internal/machine/subscriber.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"p.cancelStaleID(m.ID, now)\n\t\treturn", "return"}},
	{guard: "search: a tenure that is released is never revived", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"case asked, queued:\n\t\tif n.tenure.successor == t", "case asked, queued, releasing:\n\t\tif n.tenure.successor == t", "case releasing, ended:\n", "case ended:\n"}},
	{guard: "search: a waiter asks again by the clock", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"n.askAt = now.Add(n.nextPoll(a, notListening, now))", "n.askAt = now.Add(24*time.Hour + n.nextPoll(a, notListening, now))"}},
	// The id of a successor that was not queued is asked for at once, see unlockAnswered. Without that nothing
	// breaks within the bounds: the timer that was set for the unlock asks for it within an attempt.
	// TestFreshIDThatWasNotQueued notices it.
	{guard: "search: the id to queue again is fresh", file: "internal/machine/release.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"t.successor = n.p.newTenure(n)", "t.successor = n.p.newTenure(n)\n\t\tt.successor.ID = t.ID"}},
	{guard: "search: a token is given only above every token used", file: "internal/tokens/tokens.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"base = max(base, b.end)", "b.next = b.end"}},
}
