//go:build unix

package lab_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// cluster is a Redis Cluster of masters only.
type cluster []*redistest.Server

func (c cluster) url() string {
	addresses := make([]string, len(c))
	for i, node := range c {
		addresses[i] = node.Addr()
	}
	return "cluster://" + strings.Join(addresses, ",")
}

// do runs a command where its key lives.
func (c cluster) do(t testing.TB, args ...any) string {
	t.Helper()
	for _, node := range c {
		text, err := node.Do(args...)
		if refused, ok := errors.AsType[redistest.Error](err); ok && strings.HasPrefix(string(refused), "MOVED ") {
			continue
		}
		if err != nil {
			t.Fatalf("%v on %s: %v", args, node.Addr(), err)
		}
		return text
	}
	t.Fatalf("%v: no node takes it", args)
	return ""
}

func (c cluster) inLine(t testing.TB, name string, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprint(want, " stand in line"), func() bool {
		var got []string
		for id := range strings.Lines(c.do(t, "ZRANGE", keyQ(name), 0, -1)) {
			got = append(got, ownerOf(strings.TrimSpace(id)))
		}
		return slices.Equal(got, want)
	})
}

// idle waits until no name is held or waited for, and nobody listens.
func (c cluster) idle(t testing.TB) {
	t.Helper()
	eventually(t, "only fences are left, and no channel", func() bool {
		for _, node := range c {
			if node.MustDo(t, "PUBSUB", "SHARDCHANNELS") != "" {
				return false
			}
			for key := range strings.FieldsSeq(node.MustDo(t, "KEYS", "*")) {
				if !strings.HasPrefix(key, "holdfast/fence:") {
					return false
				}
			}
		}
		return true
	})
	eventually(t, "no connection is in subscribed state", func() bool {
		for _, node := range c {
			for line := range strings.Lines(node.MustDo(t, "CLIENT", "LIST")) {
				if strings.Contains(line, "name=holdfast") && !strings.Contains(line, " ssub=0") {
					return false
				}
			}
		}
		return true
	})
}

// clients are Clients with both drivers.
func (c cluster) clients(t testing.TB, linger time.Duration, owners ...string) []*holdfast.Client {
	t.Helper()
	var clients []*holdfast.Client
	for i, owner := range owners {
		store := drivers[i%len(drivers)].open(t, c.url(), way{})
		client := holdfast.New(store, &holdfast.Options{Owner: owner, TTL: long, Linger: linger})
		t.Cleanup(func() { _ = client.Close() })
		clients = append(clients, client)
	}
	return clients
}

func TestClientsOnACluster(t *testing.T) {
	nodes := cluster(redistest.Cluster(t, 3, 0))
	t.Run("hand over", func(t *testing.T) { testClusterHandOver(t, nodes) })
	t.Run("recall", func(t *testing.T) { testClusterRecall(t, nodes) })
	t.Run("many names", func(t *testing.T) { testClusterManyNames(t, nodes) })
	t.Run("moved slot", func(t *testing.T) { testClusterMovedSlot(t, nodes) })
}

// Waiters are served first come, first served, by pushes: waiting costs nothing,
// and a hand-over a few commands.
func testClusterHandOver(t *testing.T, nodes cluster) {
	const name, watched = "handed", 2 * time.Second
	clients := nodes.clients(t, 0, "A", "B", "C")
	lease := take(t, clients[0], name)
	waiting := []asked{asking(t.Context(), clients[1].Mutex(name))}
	nodes.inLine(t, name, "B")
	waiting = append(waiting, asking(t.Context(), clients[2].Mutex(name)))
	nodes.inLine(t, name, "B", "C")

	before := commands(t, nodes...)
	for began := time.Now(); time.Since(began) < watched; time.Sleep(10 * time.Millisecond) {
		for i, w := range waiting {
			if !w.pending() {
				t.Fatalf("waiter %d returned while the name was held", i)
			}
		}
	}
	if got := commands(t, nodes...) - before; got > 6 { // polling would be 20 at least
		t.Errorf("two waiters took %d commands in %v, want next to none", got, watched)
	}
	before = commands(t, nodes...)
	for i := 0; i < len(waiting); i++ {
		giveBack(t, lease)
		next := waiting[i].lease(t)
		if next.Token() <= lease.Token() {
			t.Errorf("turn %d: got token %d, want more than %d", i, next.Token(), lease.Token())
		}
		if i == 0 { // who comes back stands behind those who wait
			waiting = append(waiting, asking(t.Context(), clients[0].Mutex(name)))
			nodes.inLine(t, name, "C", "A")
		}
		for j, other := range waiting[i+1:] {
			if !other.pending() {
				t.Errorf("turn %d: waiter %d has the name too", i, i+1+j)
			}
		}
		lease = next
	}
	giveBack(t, lease)
	if got := commands(t, nodes...) - before; got > 20 { // an unlock and a renewal each, and looks
		t.Errorf("three turns took %d commands", got)
	}
	nodes.idle(t)
}

// A lingering tenure is recalled through the name's own channel, and a TryLock
// does not recall it.
func testClusterRecall(t *testing.T, nodes cluster) {
	const name = "recalled"
	clients := nodes.clients(t, 10*patience, "A", "B")
	for range 3 { // each from the other
		for i, client := range clients {
			lease := take(t, client, name)
			giveBack(t, lease)
			if _, err := clients[1-i].Mutex(name).TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("TryLock: got %v, want ErrHeld", err)
			}
		}
	}
	for _, client := range clients {
		closeWell(t, client)
	}
	if got := nodes.do(t, "EXISTS", keyL(name)); got != "0" {
		t.Error("the lingering tenure is left behind")
	}
	nodes.idle(t)
}

// Many names over all slots, each held, waited for twice and handed over, in
// order.
func testClusterManyNames(t *testing.T, nodes cluster) {
	const n = 50
	clients := nodes.clients(t, 0, "A", "B", "C")
	waiting := make([][]asked, n)
	leases := make([]*holdfast.Lease, n)
	name := func(i int) string { return fmt.Sprint("n", i) }
	for i := range n {
		leases[i] = take(t, clients[i%3], name(i))
		waiting[i] = append(waiting[i], asking(t.Context(), clients[(i+1)%3].Mutex(name(i))))
	}
	owners := []string{"A", "B", "C"}
	for i := range n {
		nodes.inLine(t, name(i), owners[(i+1)%3])
		waiting[i] = append(waiting[i], asking(t.Context(), clients[(i+2)%3].Mutex(name(i))))
	}
	for i := range n {
		nodes.inLine(t, name(i), owners[(i+1)%3], owners[(i+2)%3])
	}
	for turn := range 2 {
		for i := range n {
			giveBack(t, leases[i])
		}
		for i := range n {
			next := waiting[i][turn].lease(t)
			if next.Token() <= leases[i].Token() {
				t.Errorf("%s: got token %d, want more than %d", name(i), next.Token(), leases[i].Token())
			}
			if turn == 0 && !waiting[i][1].pending() {
				t.Errorf("%s: the second waiter has it beside the first", name(i))
			}
			leases[i] = next
		}
	}
	for i := range n {
		giveBack(t, leases[i])
	}
	nodes.idle(t)
}

// A slot moves while its name is held and waited for: the lease stays, the
// waiter follows to the other node and is served there.
func testClusterMovedSlot(t *testing.T, nodes cluster) {
	const name = "moving"
	clients := nodes.clients(t, 0, "A", "B")
	lease := take(t, clients[0], name)
	waiting := asking(t.Context(), clients[1].Mutex(name))
	nodes.inLine(t, name, "B")
	to := nodes.startMove(t, name).target // once more: it changes nothing
	nodes.moveSlot(t, name, true, 0)
	eventually(t, "B listens on the other node", func() bool {
		return strings.Contains(to.MustDo(t, "PUBSUB", "SHARDCHANNELS"), keyL(name))
	})
	nodes.inLine(t, name, "B")
	giveBack(t, lease)
	next := waiting.lease(t)
	if next.Token() <= lease.Token() {
		t.Errorf("got token %d, want more than %d", next.Token(), lease.Token())
	}
	giveBack(t, next)
	nodes.idle(t)
}
