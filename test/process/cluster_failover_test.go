//go:build unix

package process_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A master of a Cluster dies, and the one after it freezes, while processes with
// both drivers work as in TestSentinelFailovers, with names on that master and
// on the others.
func TestClusterFailovers(t *testing.T) {
	t.Parallel()
	nodes := redistest.Cluster(t, 3, 1)
	master := nodes[0]
	replica := nodes[slices.IndexFunc(nodes, func(node *redistest.Server) bool {
		role, err := node.Do("ROLE")
		_, port, _ := strings.Cut(master.Addr(), ":")
		return err == nil && strings.HasPrefix(role, "slave\n127.0.0.1\n"+port+"\n")
	})]
	var there []string // names on that master
	tries := 0
	name := func(here bool) string {
		for {
			tries++
			name := fmt.Sprint("n", tries)
			if _, err := master.Do("GET", clienttest.LockKey(name)); (err == nil) == here {
				if here {
					there = append(there, name)
				}
				return name
			}
		}
	}
	shared := []string{name(true), name(true), name(false)}
	workers := hire(t, clienttest.Cluster(nodes).URL(), 4, 2, dutyTTL, func(_, i int) string { return name(i%4 != 3) }, shared)
	workers.glance = name(true)
	for n, f := range []force{{lag: true}, {lag: true, freeze: true}} {
		round := workers.strike(t, f, there, master, []*redistest.Server{replica}, func() {
			clienttest.Eventually(t, "the replica is the master", func() bool {
				role, err := replica.Do("ROLE")
				return err == nil && strings.HasPrefix(role, "master")
			})
		})
		if f.freeze {
			redistest.ThawAll(t, master)
		} else if err := master.Restart(false); err != nil {
			t.Fatal(err)
		}
		round.log(t, n)
		redistest.ClusterWhole(t, nodes, 3)
		master, replica = replica, master
	}
	workers.dismiss(t)
}
