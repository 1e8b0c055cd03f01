package mutation

// ownMutants are what a caller is told of its own lease.
var ownMutants = []mutant{
	{guard: "own lease: a Lock under an ended lease returns the end of its context", file: "mutex.go", pkg: "./test/client", name: "TestNoDeadlockAfterTheLease",
		edits: []string{"\t\treturn nil, underEnded(over)\n\tcase m.Reentrant", "\t\treturn nil, publicError(over)\n\tcase m.Reentrant"}},
	{guard: "own lease: a try is no deadlock", file: "mutex.go", pkg: "./test/client", name: "TestDeadlockIsReported",
		edits: []string{"\t\treturn nil, publicError(c.engine.Held(u))\n", "\t\treturn nil, ErrDeadlock\n"}},
	{guard: "own lease: a try of a Multi is no deadlock", file: "multi.go", name: "TestMultiRefuses",
		edits: []string{"\t\t\tif try {\n\t\t\t\treturn publicError(c.engine.Held(held))\n\t\t\t}\n", ""}},
	{guard: "own lease: Release of a nil lease is an error", file: "lease.go", pkg: "./test/client", name: "TestReleaseOfNothing",
		edits: []string{"	if l == nil {\n		return errNoLease\n	}\n", ""}},
}
