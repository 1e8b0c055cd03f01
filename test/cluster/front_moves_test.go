//go:build unix

package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// While a slot moves, a hand-over that empties a queue of many dead tells the living
// one behind them all the same: a script may not look at what it has emptied.
func TestHandOverEmptiesAQueueThatMoves(t *testing.T) {
	t.Parallel()
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	for i, client := range nodes.Clients(t, 0, "A", "B")[:2] {
		name := fmt.Sprint("emptied-", i)
		other := nodes.Clients(t, 0, "other")[0]
		lease := clienttest.Take(t, client, name)
		for n := range 20 {
			nodes.Do(t, "ZADD", clienttest.QueueKey(name), n, fmt.Sprintf("dead.n%d.15000|dead", n))
		}
		waiting := clienttest.Asking(t.Context(), other.Mutex(name))
		clienttest.Eventually(t, "it waits in the queue", func() bool { return nodes.Do(t, "ZCARD", clienttest.QueueKey(name)) == "21" })
		m := nodes.StartMove(t, name)
		refused := m.Source.MustDo(t, "INFO", "errorstats")
		clienttest.GiveBack(t, lease)
		began := time.Now()
		next := waiting.Lease(t)
		if took := time.Since(began); took > 10*time.Second { // its own look is 15 s and more away
			t.Errorf("got the name after %v; before: %s, now: %s", took, refused, m.Source.MustDo(t, "INFO", "errorstats"))
		}
		m.Migrate(t, m.Keys(t))
		m.Finish(t)
		clienttest.GiveBack(t, next)
	}
}
