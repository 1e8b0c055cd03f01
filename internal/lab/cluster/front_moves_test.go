//go:build unix

package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/labtest"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// While a slot moves, a hand-over that empties a queue of many dead tells the living
// one behind them all the same: a script may not look at what it has emptied.
func TestHandOverEmptiesAQueueThatMoves(t *testing.T) {
	t.Parallel()
	nodes := labtest.Cluster(redistest.Cluster(t, 3, 0))
	for i, client := range nodes.Clients(t, 0, "A", "B")[:2] {
		name := fmt.Sprint("emptied-", i)
		other := nodes.Clients(t, 0, "other")[0]
		lease := labtest.Take(t, client, name)
		for n := range 20 {
			nodes.Do(t, "ZADD", labtest.QueueKey(name), n, fmt.Sprintf("dead.n%d.15000|dead", n))
		}
		waiting := labtest.Asking(t.Context(), other.Mutex(name))
		labtest.Eventually(t, "it waits in the queue", func() bool { return nodes.Do(t, "ZCARD", labtest.QueueKey(name)) == "21" })
		m := nodes.StartMove(t, name)
		refused := m.Source.MustDo(t, "INFO", "errorstats")
		labtest.GiveBack(t, lease)
		began := time.Now()
		next := waiting.Lease(t)
		if took := time.Since(began); took > 10*time.Second { // its own look is 15 s and more away
			t.Errorf("got the name after %v; before: %s, now: %s", took, refused, m.Source.MustDo(t, "INFO", "errorstats"))
		}
		m.Migrate(t, m.Keys(t))
		m.Finish(t)
		labtest.GiveBack(t, next)
	}
}
