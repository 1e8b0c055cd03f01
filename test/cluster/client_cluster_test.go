//go:build unix

package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestClientsOnACluster(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	t.Run("hand over", func(t *testing.T) { testClusterHandOver(t, nodes) })
	t.Run("recall", func(t *testing.T) { testClusterRecall(t, nodes) })
	t.Run("many names", func(t *testing.T) { testClusterManyNames(t, nodes) })
	t.Run("moved slot", func(t *testing.T) { testClusterMovedSlot(t, nodes) })
}

// Waiters are served first come, first served, by pushes: waiting costs nothing,
// and a hand-over a few commands.
func testClusterHandOver(t *testing.T, nodes clienttest.Cluster) {
	const name, watched = "handed", 2 * time.Second
	clients := nodes.Clients(t, 0, "A", "B", "C")
	lease := clienttest.Take(t, clients[0], name)
	waiting := []clienttest.Asked{clienttest.Asking(t.Context(), clients[1].Mutex(name))}
	nodes.InQueue(t, name, "B")
	waiting = append(waiting, clienttest.Asking(t.Context(), clients[2].Mutex(name)))
	nodes.InQueue(t, name, "B", "C")

	before := clienttest.Commands(t, nodes...)
	for began := time.Now(); time.Since(began) < watched; time.Sleep(10 * time.Millisecond) {
		for i, w := range waiting {
			if !w.Pending() {
				t.Fatalf("waiter %d returned while the name was held", i)
			}
		}
	}
	if got := clienttest.Commands(t, nodes...) - before; got > 6 { // polling would be 20 at least
		t.Errorf("two waiters took %d commands in %v, want next to none", got, watched)
	}
	before = clienttest.Commands(t, nodes...)
	for i := 0; i < len(waiting); i++ {
		clienttest.GiveBack(t, lease)
		next := waiting[i].Lease(t)
		if next.Token() <= lease.Token() {
			t.Errorf("turn %d: got token %d, want more than %d", i, next.Token(), lease.Token())
		}
		if i == 0 { // who comes back stands behind those who wait
			waiting = append(waiting, clienttest.Asking(t.Context(), clients[0].Mutex(name)))
			nodes.InQueue(t, name, "C", "A")
		}
		for j, other := range waiting[i+1:] {
			if !other.Pending() {
				t.Errorf("turn %d: waiter %d has the name too", i, i+1+j)
			}
		}
		lease = next
	}
	clienttest.GiveBack(t, lease)
	if got := clienttest.Commands(t, nodes...) - before; got > 20 { // an unlock and a renewal each, and looks
		t.Errorf("three turns took %d commands", got)
	}
	nodes.Idle(t)
}

// A lingering tenure is recalled through the name's own channel, and a TryLock
// does not recall it.
func testClusterRecall(t *testing.T, nodes clienttest.Cluster) {
	const name = "recalled"
	clients := nodes.Clients(t, 10*clienttest.Patience, "A", "B")
	for range 3 { // each from the other
		for i, client := range clients {
			lease := clienttest.Take(t, client, name)
			clienttest.GiveBack(t, lease)
			if _, err := clients[1-i].Mutex(name).TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("TryLock: got %v, want ErrHeld", err)
			}
		}
	}
	for _, client := range clients {
		clienttest.CloseWell(t, client)
	}
	if got := nodes.Do(t, "EXISTS", clienttest.LockKey(name)); got != "0" {
		t.Error("the lingering tenure is left behind")
	}
	nodes.Idle(t)
}

// Many names over all slots, each held, waited for twice and handed over, in
// order.
func testClusterManyNames(t *testing.T, nodes clienttest.Cluster) {
	const n = 50
	clients := nodes.Clients(t, 0, "A", "B", "C")
	waiting := make([][]clienttest.Asked, n)
	leases := make([]*holdfast.Lease, n)
	name := func(i int) string { return fmt.Sprint("n", i) }
	for i := range n {
		leases[i] = clienttest.Take(t, clients[i%3], name(i))
		waiting[i] = append(waiting[i], clienttest.Asking(t.Context(), clients[(i+1)%3].Mutex(name(i))))
	}
	owners := []string{"A", "B", "C"}
	for i := range n {
		nodes.InQueue(t, name(i), owners[(i+1)%3])
		waiting[i] = append(waiting[i], clienttest.Asking(t.Context(), clients[(i+2)%3].Mutex(name(i))))
	}
	for i := range n {
		nodes.InQueue(t, name(i), owners[(i+1)%3], owners[(i+2)%3])
	}
	for turn := range 2 {
		for i := range n {
			clienttest.GiveBack(t, leases[i])
		}
		for i := range n {
			next := waiting[i][turn].Lease(t)
			if next.Token() <= leases[i].Token() {
				t.Errorf("%s: got token %d, want more than %d", name(i), next.Token(), leases[i].Token())
			}
			if turn == 0 && !waiting[i][1].Pending() {
				t.Errorf("%s: the second waiter has it beside the first", name(i))
			}
			leases[i] = next
		}
	}
	for i := range n {
		clienttest.GiveBack(t, leases[i])
	}
	nodes.Idle(t)
}

// A slot moves while its name is held and waited for: the lease stays, the
// waiter follows to the other node and is served there.
func testClusterMovedSlot(t *testing.T, nodes clienttest.Cluster) {
	const name = "moving"
	clients := nodes.Clients(t, 0, "A", "B")
	lease := clienttest.Take(t, clients[0], name)
	waiting := clienttest.Asking(t.Context(), clients[1].Mutex(name))
	nodes.InQueue(t, name, "B")
	to := nodes.StartMove(t, name).Target // once more: it changes nothing
	nodes.MoveSlot(t, name, true, 0)
	clienttest.Eventually(t, "B listens on the other node", func() bool {
		return strings.Contains(to.MustDo(t, "PUBSUB", "SHARDCHANNELS"), clienttest.LockKey(name))
	})
	nodes.InQueue(t, name, "B")
	clienttest.GiveBack(t, lease)
	next := waiting.Lease(t)
	if next.Token() <= lease.Token() {
		t.Errorf("got token %d, want more than %d", next.Token(), lease.Token())
	}
	clienttest.GiveBack(t, next)
	nodes.Idle(t)
}
