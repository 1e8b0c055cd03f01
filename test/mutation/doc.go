// Package mutation proves that the tests can fail. It changes the client or a script, for example by
// removing a check, and runs the test that the row names: it must fail. The tree itself is not touched.
// Formatting code, moving it within its package and renaming locals breaks no row.
//
//	go test -v -timeout 3h -run '^TestMutations$' ./test/mutation -args -part 0/1 [-what REGEXP]
//	go test -run '^TestMutations$' ./test/mutation -args -fit
package mutation
