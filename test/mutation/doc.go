// Package mutants proves that the tests can fail: it takes one guard after the other
// out of the client and the scripts and runs the test that is named for it,
// which must fail. The tree itself is not touched.
//
//	go test -v -timeout 3h -run '^TestMutations$' ./test/mutation -args -part 0/1 [-guard REGEXP] [-json FILE]
package mutation
