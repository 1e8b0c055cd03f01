package mutants

// aliveMutants are what keeps a Client from being garbage-collected, and what does not.
var aliveMutants = []mutant{
	{guard: "alive: a context keeps the Client", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextKeepsItsClient",
		edits: []string{"derived := &leaseContext{ctx, parent, l.client, u, d}", "derived := &leaseContext{ctx, parent, nil, u, d}"}},
	{guard: "alive: and that of its parent", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextsOfTwoLeases",
		edits: []string{"derived := &leaseContext{ctx, parent, l.client, u, d}", "derived := &leaseContext{ctx, under, l.client, u, d}"}},
	{guard: "alive: a context does not keep it through its child", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextsOfTwoLeases",
		edits: []string{"under = p.Context", "under = p"}},
	{guard: "alive: the channel of a context keeps it", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextDoneKeepsItsClient",
		edits: []string{"c.of.waited.Store(c)", "_ = c"}},
	{guard: "alive: until the context ends", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextDoneKeepsItsClient",
		edits: []string{"delete(w.derived, d)", "_ = d"}},
	{guard: "alive: what is dropped in a bubble is not closed from outside", file: "close.go", pkg: ".", name: "TestClientDroppedInABubble",
		edits: []string{"if !clock.InBubble() {", "if true || clock.InBubble() {", "go c.close() // nobody is left to return its error to; it logs", "c.process.Closed = true // a close would end the program"}},
	{guard: "alive: Done keeps it", file: "lease.go", pkg: "./internal/lab/client", name: "TestDoneKeepsItsClient",
		edits: []string{"w.client = l.client", "_ = l"}},
	{guard: "alive: until the lease ends", file: "lease.go", pkg: "./internal/lab/client", name: "TestDoneKeepsItsClient",
		edits: []string{"\tdelete(c.watched, u)\n", ""}},
	{guard: "alive: locking several names does not", file: "multi.go", pkg: "./internal/lab/client", name: "TestLeaseDroppedWithItsClient",
		edits: []string{"defer func() { done() }()", "_ = done"}},
}
