//go:build unix

package lab_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// While a slot moves, a hand-over that empties a line of many dead tells the living
// one behind them all the same: a script may not look at what it has emptied.
func TestHandOverEmptiesALineThatMoves(t *testing.T) {
	t.Parallel()
	nodes := cluster(redistest.Cluster(t, 3, 0))
	for i, client := range nodes.clients(t, 0, "A", "B")[:2] {
		name := fmt.Sprint("emptied-", i)
		other := nodes.clients(t, 0, "other")[0]
		lease := take(t, client, name)
		for n := range 20 {
			nodes.do(t, "ZADD", keyQ(name), n, fmt.Sprintf("dead.n%d.15000|dead", n))
		}
		waiting := asking(t.Context(), other.Mutex(name))
		eventually(t, "it stands in line", func() bool { return nodes.do(t, "ZCARD", keyQ(name)) == "21" })
		m := nodes.startMove(t, name)
		refused := m.source.MustDo(t, "INFO", "errorstats")
		giveBack(t, lease)
		began := time.Now()
		next := waiting.lease(t)
		if took := time.Since(began); took > 10*time.Second { // its own look is 15 s and more away
			t.Errorf("got the name after %v; before: %s, now: %s", took, refused, m.source.MustDo(t, "INFO", "errorstats"))
		}
		m.migrate(t, m.keys(t))
		m.finish(t)
		giveBack(t, next)
	}
}
