package mutation

// What keeps a Client from being garbage-collected, and what does not.
var _ = table([]mutation{
	{what: "dropped Client: a lease's context keeps it alive", pkg: "./test/client", name: "TestContextKeepsItsClient",
		in: ". Lease.Context", edits: []string{"parent, l.client", "parent, nil"}},
	{what: "dropped Client: the parent of a context keeps it alive", pkg: "./test/client", name: "TestContextsOfTwoLeases",
		in: ". Lease.Context", where: "under = p.Context", edits: []string{"parent, l.client", "under, l.client"}},
	{what: "dropped Client: a child context does not keep it alive", pkg: "./test/client", name: "TestContextsOfTwoLeases",
		in: ". Lease.Context", edits: []string{"under = p.Context", "under = p"}},
	{what: "dropped Client: the channel of a context keeps it alive", pkg: "./test/client", name: "TestContextDoneKeepsItsClient",
		in: ". leaseContext.Done", edits: []string{"c.of.waited.Store(c)", "_ = c"}},
	{what: "dropped Client: the channel keeps it alive until the context ends", pkg: "./test/client", name: "TestContextDoneKeepsItsClient",
		in: "internal/engine Engine.Watch", edits: []string{"delete(w.enders, x)", "_ = x"}},
	{what: "dropped Client: a Client of a synctest bubble is not closed", pkg: ".", name: "TestClientDroppedInABubble",
		in: ". newClient, dropped", edits: []string{"!clock.InBubble()", "true || clock.InBubble()", "go e.Close()", "panic(e)"}},
	{what: "dropped Client: Lease.Done keeps it alive", pkg: "./test/client", name: "TestDoneKeepsItsClient",
		in: "internal/engine Engine.Done", edits: []string{"w.keeps = keep", "_ = keep"}},
	{what: "dropped Client: Lease.Done keeps it alive until the lease ends", pkg: "./test/client", name: "TestDoneKeepsItsClient",
		in: "internal/engine host.Ended", edits: []string{"delete(h.watched, u)", ""}},
	{what: "dropped Client: a Multi does not keep it alive", pkg: "./test/client", name: "TestLeaseDroppedWithItsClient",
		in: ". Multi.inOrder", edits: []string{"defer func() { done() }()", "_ = done"}},
})
