package mutation

// aliveMutants are what keeps a Client from being garbage-collected, and what does not.
var aliveMutants = []mutant{
	{guard: "dropped Client: a lease's context keeps it alive", file: "lease.go", pkg: "./test/client", name: "TestContextKeepsItsClient",
		edits: []string{"return &leaseContext{ctx, parent, l.client, l.turn, d}", "return &leaseContext{ctx, parent, nil, l.turn, d}"}},
	{guard: "dropped Client: the parent of a context keeps it alive", file: "lease.go", pkg: "./test/client", name: "TestContextsOfTwoLeases",
		edits: []string{"return &leaseContext{ctx, parent, l.client, l.turn, d}", "return &leaseContext{ctx, under, l.client, l.turn, d}"}},
	{guard: "dropped Client: a child context does not keep it alive", file: "lease.go", pkg: "./test/client", name: "TestContextsOfTwoLeases",
		edits: []string{"under = p.Context", "under = p"}},
	{guard: "dropped Client: the channel of a context keeps it alive", file: "lease.go", pkg: "./test/client", name: "TestContextDoneKeepsItsClient",
		edits: []string{"c.of.waited.Store(c)", "_ = c"}},
	{guard: "dropped Client: the channel keeps it alive until the context ends", file: "internal/engine/hold.go", pkg: "./test/client", name: "TestContextDoneKeepsItsClient",
		edits: []string{"delete(w.enders, x)", "_ = x"}},
	{guard: "dropped Client: a Client of a synctest bubble is not closed", file: "client.go", pkg: ".", name: "TestClientDroppedInABubble",
		edits: []string{"if !clock.InBubble() {", "if true || clock.InBubble() {", "go e.Close() // Close logs its error: no caller is left to get it", "panic(e) // a Close would end the program"}},
	{guard: "dropped Client: Lease.Done keeps it alive", file: "internal/engine/hold.go", pkg: "./test/client", name: "TestDoneKeepsItsClient",
		edits: []string{"w.keeps = keep", "_ = keep"}},
	{guard: "dropped Client: Lease.Done keeps it alive until the lease ends", file: "internal/engine/host.go", pkg: "./test/client", name: "TestDoneKeepsItsClient",
		edits: []string{"\tdelete(h.watched, u)\n", ""}},
	{guard: "dropped Client: a Multi does not keep it alive", file: "multi.go", pkg: "./test/client", name: "TestLeaseDroppedWithItsClient",
		edits: []string{"defer func() { done() }()", "_ = done"}},
}
