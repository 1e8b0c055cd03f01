package mutants

// aliveMutants are what keeps a Client from being garbage-collected, and what does not.
var aliveMutants = []mutant{
	{guard: "alive: a context keeps the Client", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextKeepsItsClient",
		edits: []string{"return &leaseContext{ctx, parent, l.client, l.turn, d}", "return &leaseContext{ctx, parent, nil, l.turn, d}"}},
	{guard: "alive: and that of its parent", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextsOfTwoLeases",
		edits: []string{"return &leaseContext{ctx, parent, l.client, l.turn, d}", "return &leaseContext{ctx, under, l.client, l.turn, d}"}},
	{guard: "alive: a context does not keep it through its child", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextsOfTwoLeases",
		edits: []string{"under = p.Context", "under = p"}},
	{guard: "alive: the channel of a context keeps it", file: "lease.go", pkg: "./internal/lab/client", name: "TestContextDoneKeepsItsClient",
		edits: []string{"c.of.waited.Store(c)", "_ = c"}},
	{guard: "alive: until the context ends", file: "internal/engine/hold.go", pkg: "./internal/lab/client", name: "TestContextDoneKeepsItsClient",
		edits: []string{"delete(w.enders, x)", "_ = x"}},
	{guard: "alive: what is dropped in a bubble is not closed from outside", file: "client.go", pkg: ".", name: "TestClientDroppedInABubble",
		edits: []string{"if !clock.InBubble() {", "if true || clock.InBubble() {", "go e.Close() // nobody is left to return its error to; it logs", "panic(e) // a Close would end the program"}},
	{guard: "alive: Done keeps it", file: "internal/engine/hold.go", pkg: "./internal/lab/client", name: "TestDoneKeepsItsClient",
		edits: []string{"w.keeps = keep", "_ = keep"}},
	{guard: "alive: until the lease ends", file: "internal/engine/host.go", pkg: "./internal/lab/client", name: "TestDoneKeepsItsClient",
		edits: []string{"\tdelete(h.watched, u)\n", ""}},
	{guard: "alive: locking several names does not", file: "multi.go", pkg: "./internal/lab/client", name: "TestLeaseDroppedWithItsClient",
		edits: []string{"defer func() { done() }()", "_ = done"}},
}
