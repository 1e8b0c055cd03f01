package mutants

// searchMutants are guards of the machine that the search of its states finds.
var searchMutants = []mutant{
	{guard: "search: a deadline is counted from before the request", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start: r.Sent, ttl: n.Kind.TTL", "start: now, ttl: n.Kind.TTL"}},
	{guard: "search: the start of a pushed grant is a bound from below", file: "internal/machine/subscriber.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"start: t.pushStart(m.Server, s.sentAt, now), ttl", "start: now, ttl"}},
	{guard: "search: a late granted answer is cancelled", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"case releasing, past:\n\t\tp.cancelID(t.ID, n, now)\n", "case releasing, past:\n"}},
	{guard: "search: a late queued answer is cancelled", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"\"again\"):\n\t\tn.p.cancelID(t.ID, n, now)", "\"again\"):\n\t\t_ = 0"}},
	{guard: "search: so it is while its id is releasing", file: "internal/machine/ask.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"ended := t.phase == releasing || t.phase == past", "ended := t.phase == past"}},
	{guard: "search: a pushed id that has ended is cancelled", file: "internal/machine/subscriber.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"\tif t == nil {\n\t\tp.cancelStaleID(m.ID, now)\n", "\tif t == nil {\n"}},
	{guard: "search: the id to queue again is fresh", file: "internal/machine/release.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"n.fresh = n.p.newTenure(n)", "n.fresh = n.p.newTenure(n)\n\t\tn.fresh.ID = t.ID"}},
	{guard: "search: a token is given only above every token used", file: "internal/tokens/tokens.go", pkg: "./internal/machine", name: "TestSearch",
		edits: []string{"base = max(base, b.end)", "b.next = b.end"}},
}
