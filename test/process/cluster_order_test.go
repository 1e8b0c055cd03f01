//go:build unix

package process_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// disturbance is how long after the move of its slot a name may be given out of
// order: until the processes that wait have subscribed at its new server, they
// pass for dead there. It takes them some 50 ms.
const disturbance = 400 * time.Millisecond

// The slot of a name moves again and again while 16 callers in four processes
// with both drivers take it in turns. But for the moments of the moves they are
// served in their order, and the count is exact.
func TestClusterMovesKeepTheOrder(t *testing.T) {
	const name, moves = "ordered", 3
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	var processes []*process
	for i := range 4 {
		p := startProcess(t, setting{URL: nodes.URL(), Driver: i % len(clienttest.Drivers), Owner: fmt.Sprint("P", i)})
		p.ready.wait()
		processes = append(processes, p)
	}
	l := newLoad(t, name, 4, 1_000_000)
	calls := begin(l, processes)
	var disturbed []span
	for i := range moves + 1 {
		from := count(t, l)
		time.Sleep(4 * disturbance)
		clienttest.Eventually(t, "the load goes on", func() bool { return count(t, l) >= from+500 })
		if i == moves {
			break
		}
		s := span{begin: now()}
		nodes.MoveSlot(t, name, i%2 == 0, 10*time.Millisecond)
		s.end = now() + disturbance.Nanoseconds()
		disturbed = append(disturbed, s)
		time.Sleep(time.Until(time.Unix(0, s.end)))
	}
	if err := write(l.Stop, os.O_CREATE, ""); err != nil {
		t.Fatal(err)
	}
	finish(t, calls, clienttest.Patience)
	l.Total = count(t, l)
	order := l.check(t, len(processes))
	checkOrder(t, order, len(processes), append(disturbed, span{0, disturbed[0].begin - disturbance.Nanoseconds()})...)
	nodes.Idle(t)
}

// A caller that waits in the queue when the slot moves keeps its place: eight Clients with
// both drivers are served in the order in which they came.
func TestClusterQueueMoves(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	for round := range 3 {
		name := fmt.Sprint("line", round)
		lease := clienttest.Take(t, clienttest.HoldfastOn(t, clienttest.Drivers[0], nodes.URL(), "H"), name)
		var line []clienttest.Asked
		var owners []string
		for i := range 8 {
			owner := fmt.Sprint("W", i)
			line = append(line, clienttest.Asking(t.Context(), clienttest.HoldfastOn(t, clienttest.Drivers[i%len(clienttest.Drivers)], nodes.URL(), owner).Mutex(name)))
			owners = append(owners, owner)
			nodes.InQueue(t, name, owners...)
		}
		nodes.MoveSlot(t, name, round == 0, 5*time.Millisecond)
		clienttest.Eventually(t, "all listen at the new server", func() bool { return channels(t, nodes, name) >= len(line) })
		nodes.InQueue(t, name, owners...)
		clienttest.GiveBack(t, lease)
		for i, w := range line {
			next := w.Lease(t)
			for j, other := range line[i+1:] {
				if !other.Pending() {
					t.Errorf("round %d: waiter %d was served beside waiter %d", round, i+1+j, i)
				}
			}
			if next.Token() <= lease.Token() {
				t.Errorf("round %d: token %d after %d", round, next.Token(), lease.Token())
			}
			clienttest.GiveBack(t, next)
			lease = next
		}
	}
	nodes.Idle(t)
}

// channels counts the channels of a name that somebody hears, on the node that
// has the name.
func channels(t *testing.T, nodes clienttest.Cluster, name string) (n int) {
	t.Helper()
	for _, node := range nodes {
		if _, err := node.Do("GET", clienttest.LockKey(name)); err == nil {
			n += strings.Count(node.MustDo(t, "PUBSUB", "SHARDCHANNELS"), clienttest.LockKey(name)+"}")
		}
	}
	return n
}
