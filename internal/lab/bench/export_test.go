package bench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// None is a contender that locks nothing. The children know it too: they are
// the same binary.
const None = "none"

func init() {
	limits = append(limits, contender{
		who:  None,
		open: func(setup) (session, error) { return noSession{}, nil },
	})
}

// IsUncounted and Sends are what tells commands of clients from those of scripts.
var IsUncounted = isUncounted

// PrintJSON writes a report.
var PrintJSON = printJSON

func Sends(who string) []string {
	c, _ := contenderNamed(who)
	return c.sends
}

// Who are all that send commands, limits included.
func Who() []string {
	var all []string
	for _, c := range slices.Concat(contenders(), limits) {
		if len(c.sends) > 0 && c.open != nil {
			all = append(all, c.who)
		}
	}
	return all
}

// Pairs are all that a run has rows of, as workload and who.
func Pairs(etcd bool) [][2]string {
	var all [][2]string
	for _, w := range workloads {
		for _, c := range takePart(w) {
			if c.who != "etcd" || etcd {
				all = append(all, [2]string{w.name, c.who})
			}
		}
	}
	return all
}

// IsOurs reports whether a row is of holdfast.
func IsOurs(who string) bool {
	c, _ := contenderNamed(who)
	return c.isOurs()
}

// Cell runs one cell.
func Cell(t *testing.T, server *redistest.Server, who, name string, window time.Duration) Row {
	t.Helper()
	w, known := workloadNamed(name)
	c, ok := contenderOf(w, who)
	if !ok || !known {
		t.Fatalf("no contender %q or no workload %q", who, name)
	}
	timing := timing{Window: window, Cool: quick.timing.Cool}
	cell := cell{contender: c, workload: w.of(c), timing: timing, server: server, dir: t.TempDir(), name: "bench:" + name}
	row, err := cell.run()
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// Contend opens a contender twice and lets both take one name by turns, with
// several callers each.
func Contend(t *testing.T, server *redistest.Server, who string) {
	t.Helper()
	c, _ := contenderNamed(who)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var locks atomic.Int64
	for range 2 {
		s, err := c.open(setup{Addr: server.Addr()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		for i := range 3 {
			wg.Go(func() { locks.Add(turns(ctx, t, c, s, i)) })
		}
	}
	wg.Wait()
	if locks.Load() == 0 {
		t.Error("nobody got the lock")
	}
}

// turns is one of its callers. It returns how often it got the lock.
func turns(ctx context.Context, t *testing.T, c contender, s session, caller int) (locks int64) {
	m, err := s.mutex(caller, "bench:sends")
	if err != nil {
		t.Error(err)
		return 0
	}
	for range 5 {
		if err := m.lock(ctx); err != nil {
			// A bare SET NX does not wait, and a busy machine has seen
			// rueidislock wait for a wake-up that never came.
			if c.isOurs() {
				t.Error(err)
			}
			continue
		}
		locks++
		if err := m.unlock(); err != nil {
			t.Error(err)
		}
	}
	return locks
}

// Compare finds what got worse from one report to another.
func Compare(earlier, now *Report) (worse []string) {
	for _, q := range now.against(earlier) {
		if q.failed {
			worse = append(worse, q.workload+" "+q.who+" "+q.what)
		}
	}
	return worse
}

// Verdicts are the requirements as words, by workload, who and what.
func Verdicts(r *Report) map[[3]string]string {
	all := map[[3]string]string{}
	for _, v := range r.verdicts() {
		all[[3]string{v.workload, v.who, v.says}] = v.word()
	}
	return all
}
