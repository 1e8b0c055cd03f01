// Package mutation proves that the tests can fail. It changes the client or a script, for example by
// removing a check, and runs the test that the row names: it must fail. The tree itself is not touched.
// Formatting code, moving it within its package and renaming locals breaks no row.
//
// A test that does not end in time counts as failed, since a mutation may make it hang, but not a TestSearch:
// that takes long by itself, has five minutes, and must find the fault. A row that -what does not match is left
// out; it is a failure if it matches none.
//
//	go test -v -timeout 3h -run '^TestMutations$' ./test/mutation -args -part 0/1
//	go test -v -timeout 3h -run '^TestMutations$' ./test/mutation -args -what REGEXP
//	go test -run '^TestMutations$' ./test/mutation -args -fit
//
// A new row goes into the table of its area (eval_test.go has this one):
//
//	{what: "eval: an ended lease sends nothing", name: "TestEvalFrozen",
//		in: ". Lease.Eval", where: "l *Lease", edits: []string{"if err := l.Err(); err != nil { return nil, err }", ""}},
//
// See type mutation for the fields. Edits are pairs of old and new text. Each old text must occur exactly once in the place
// that in names. The test is in pkg, by default ./test/sim. Check the row with -args -fit -what REGEXP, then try it with
// -args -part 0/1 -what REGEXP.
package mutation
