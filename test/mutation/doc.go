// Package mutation proves that the tests can fail: it makes one change to the client or its scripts after
// the other, such as a check that is taken out, and runs the test that is named for it, which must
// fail. The tree itself is not touched. The code may be formatted, moved within a package and its locals renamed:
// the rows of the tables still find their places.
//
//	go test -v -timeout 3h -run '^TestMutations$' ./test/mutation -args -part 0/1 [-what REGEXP]
//	go test -run '^TestMutations$' ./test/mutation -args -fit
package mutation
