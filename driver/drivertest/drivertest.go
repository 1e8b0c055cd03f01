// Package drivertest tests a driver. It first calls the methods of the
// [driver.Store] one by one. Then it uses locks through the public API, as a
// program does.
//
//	func TestStore(t *testing.T) {
//		address := startServer(t) // once: all stores must reach the same server
//		drivertest.Run(t, func(t *testing.T) driver.Store {
//			store := mystore.New(address)
//			t.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// It needs a server that holdfast supports, without replicas. A limited user
// needs the rights of docs/guide/08-operating.md, also those for Semaphore and
// WaitReplicas, with the key pattern ~storetest-* in place of ~holdfast:*. If the
// driver supports Cluster, run it a second time against a Cluster.
//
// Its keys begin with "storetest-" or "holdfast/", so it can run on a server with
// other data. It leaves about 150 small keys, which expire after at most 30
// days. It takes about 11 s.
package drivertest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
)

// Run runs the suite as subtests of t. It calls open for each process that a
// test simulates. All stores must reach the same server; open may return the
// same Store each time. If the subtests Replies, Scan or Subscribe fail, Run
// stops, because most other subtests would fail for the same reason.
//
// Run does not test:
//
//   - that a call returns by the deadline of its ctx
//   - that EvalAll and EvalWait use one pipeline
//   - that EvalWait counts the replicas: it uses none
//   - that Done is closed, and Ping fails, when the connection breaks
//   - that no call runs twice after a broken connection, if SendsOnce returns true
//   - that the driver leaves a master that became a replica: see [RunMoved]
//   - redirects of a Cluster (MOVED, ASK), failovers and leaks
//
// Use the race detector to test concurrent use.
func Run(t *testing.T, open func(t *testing.T) driver.Store) {
	s := suite{open: open, prefix: fmt.Sprintf("storetest-%x:", rand.Uint64())}
	reach(t, s)
	for _, c := range methods {
		if !c.run(t, s) {
			t.Fatal("the Store does not do what the comments of driver.Store say: the other tests did not run")
		}
	}
	for _, c := range locks {
		c.run(t, s)
	}
	runShared(t, s)
}

// methods are the checks of the Store by itself, on which the others build.
var methods = []check{
	{"Replies", replies},
	{"Scan", scan},
	{"Subscribe", subscribe},
}

// locks are the checks of what a program does with a Store.
var locks = []check{
	{"LockAndRelease", lockAndRelease},
	{"TryLockHeld", tryLockHeld},
	{"HandOver", handOver},
	{"FirstComeFirstServed", firstCome},
	{"Turns", turns},
	{"ManyWaiters", manyWaiters},
	{"GivenUp", givenUp},
	{"Expiry", expiry},
	{"Lost", lost},
	{"Close", closing},
	{"Exclusion", exclusion},
	{"InspectAndNames", inspect},
	{"Deadlock", deadlock},
	{"Revoke", revoke},
	{"Steal", steal},
	{"ExportAndAdopt", adopt},
	{"Exported", exported},
	{"ExportedShared", exportedShared},
	{"Dedicated", dedicated},
	{"EvalWait", evalWait},
	{"Eval", eval},
	{"WaitReplicas", waitReplicas},
	{"Election", election},
	{"Observe", observe},
	{"Multi", multi},
	{"Survey", survey},
	{"SendsOnce", unrepeated},
}
