package mutation

// What a caller learns of its own lease.
var _ = table([]mutation{
	{what: "own lease: a Lock under an ended lease returns the end of its context", pkg: "./test/client", name: "TestNoDeadlockAfterTheLease",
		in: ". Mutex.again", edits: []string{"return nil, underEnded(over)", "return nil, publicError(over)"}},
	{what: "own lease: a try is no deadlock", pkg: "./test/client", name: "TestDeadlockIsReported",
		in: ". Mutex.again", edits: []string{"publicError(c.engine.Held(u))", "ErrDeadlock"}},
	{what: "own lease: a try of a Multi is no deadlock", name: "TestMultiRefuses",
		in: ". Multi.validate", edits: []string{"if try { return publicError(c.engine.Held(held)) }", ""}},
	{what: "own lease: Release of a nil lease is an error", pkg: "./test/client", name: "TestReleaseOfNothing",
		in: ". Lease.Release", edits: []string{"if l == nil { return errNoLease }", ""}},
})
