// Package clienttest is what the tests on real servers have in common: the
// drivers, Clients that end with their test, keys of a name, waiting for something to
// happen, a cluster whose slots move, a quorum, users with few rights.
package clienttest
