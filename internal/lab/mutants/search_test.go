package mutants

// searchMutants are guards of the machine that the search of its states finds.
var searchMutants = []mutant{
	{guard: "search: a deadline is counted from before the request", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start: r.Sent, ttl: n.Kind.TTL", "start: now, ttl: n.Kind.TTL"}},
	{guard: "search: the start of a pushed grant is a bound from below", file: "internal/machine/subscriber.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start: t.pushStart(m.Server, s.sentAt, now), ttl", "start: now, ttl"}},
	{guard: "search: a request in flight does not count for that", file: "internal/machine/tenure.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start := max(t.firstSent, subscribed)\n", "start := max(t.firstSent, subscribed)\n\tif r := t.local.Asking; r != nil {\n\t\tstart = max(start, r.Sent)\n\t}\n"}},
	{guard: "search: a lease that was over is not prolonged", file: "internal/machine/renew.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"case now >= t.Ends(): // never", "case false: // never"}},
	{guard: "search: a late granted answer is cancelled", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"case releasing, ended:\n\t\tp.cancelID(t.ID, n, now)\n", "case releasing, ended:\n"}},
	{guard: "search: the id to queue again is fresh", file: "internal/machine/release.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"t.successor = n.p.newTenure(n)", "t.successor = n.p.newTenure(n)\n\t\tt.successor.ID = t.ID"}},
	{guard: "search: a token is given only above every token used", file: "internal/tokens/tokens.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"base = max(base, b.end)", "b.next = b.end"}},
}
