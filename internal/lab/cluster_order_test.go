//go:build unix

package lab_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
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
	nodes := cluster(redistest.Cluster(t, 3, 0))
	var processes []*process
	for i := range 4 {
		p := startProcess(t, setting{URL: nodes.url(), Driver: i % len(drivers), Owner: fmt.Sprint("P", i)})
		p.ready.wait()
		processes = append(processes, p)
	}
	l := newLoad(t, name, 4, 1_000_000)
	calls := begin(l, processes)
	var disturbed []span
	for i := range moves + 1 {
		from := count(t, l)
		time.Sleep(4 * disturbance)
		eventually(t, "the load goes on", func() bool { return count(t, l) >= from+500 })
		if i == moves {
			break
		}
		s := span{begin: now()}
		nodes.moveSlot(t, name, i%2 == 0, 10*time.Millisecond)
		s.end = now() + disturbance.Nanoseconds()
		disturbed = append(disturbed, s)
		time.Sleep(time.Until(time.Unix(0, s.end)))
	}
	if err := write(l.Stop, os.O_CREATE, ""); err != nil {
		t.Fatal(err)
	}
	finish(t, calls, patience)
	l.Total = count(t, l)
	order := l.check(t, len(processes))
	checkOrder(t, order, len(processes), append(disturbed, span{0, disturbed[0].begin - disturbance.Nanoseconds()})...)
	nodes.idle(t)
}

// Who stands in line when the slot moves keeps its place: eight Clients with
// both drivers are served in the order in which they came.
func TestClusterLineMoves(t *testing.T) {
	nodes := cluster(redistest.Cluster(t, 3, 0))
	for round := range 3 {
		name := fmt.Sprint("line", round)
		lease := take(t, holdfastOn(t, drivers[0], nodes.url(), "H"), name)
		var line []asked
		var owners []string
		for i := range 8 {
			owner := fmt.Sprint("W", i)
			line = append(line, asking(t.Context(), holdfastOn(t, drivers[i%len(drivers)], nodes.url(), owner).Mutex(name)))
			owners = append(owners, owner)
			nodes.inLine(t, name, owners...)
		}
		nodes.moveSlot(t, name, round == 0, 5*time.Millisecond)
		eventually(t, "all listen at the new server", func() bool { return nodes.listeners(t, name) >= len(line) })
		nodes.inLine(t, name, owners...)
		giveBack(t, lease)
		for i, w := range line {
			next := w.lease(t)
			for j, other := range line[i+1:] {
				if !other.pending() {
					t.Errorf("round %d: waiter %d was served beside waiter %d", round, i+1+j, i)
				}
			}
			if next.Token() <= lease.Token() {
				t.Errorf("round %d: token %d after %d", round, next.Token(), lease.Token())
			}
			giveBack(t, next)
			lease = next
		}
	}
	nodes.idle(t)
}

// holdfastOn makes a Client with a driver, which ends with the test.
func holdfastOn(t testing.TB, d library, url, owner string) *holdfast.Client {
	t.Helper()
	c := holdfast.New(d.open(t, url, way{}), &holdfast.Options{Owner: owner, TTL: long})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// listeners counts the channels of a name that somebody hears, on the node that
// has the name.
func (c cluster) listeners(t testing.TB, name string) (n int) {
	t.Helper()
	for _, node := range c {
		if _, err := node.Do("GET", keyL(name)); err == nil {
			n += strings.Count(node.MustDo(t, "PUBSUB", "SHARDCHANNELS"), keyL(name)+"}")
		}
	}
	return n
}
