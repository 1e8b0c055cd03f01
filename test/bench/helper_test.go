package bench_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/scenario"
	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// nobody is a contender that locks nothing. The children know it too: they are
// the same binary.
const nobody = "none"

func init() {
	limit.Limits = append(limit.Limits, contend.Contender{
		Who:  nobody,
		Open: func(contend.Setup) (contend.Session, error) { return idle{}, nil },
	})
}

// idle is its session, and its mutex.
type idle struct{}

func (idle) Mutex(int, string) (contend.Mutex, error) { return idle{}, nil }
func (idle) Close()                                   {}
func (idle) Lock(context.Context) error               { return nil }
func (idle) Unlock() error                            { return nil }

// pair is a contender in a workload.
type pair struct {
	workload contend.Workload
	who      contend.Contender
}

// pairs are all that a run has rows of.
func pairs(workloads []contend.Workload, etcd bool) (all []pair) {
	for _, w := range workloads {
		for _, c := range workload.TakePart(w) {
			if c.Who != "etcd" || etcd {
				all = append(all, pair{w, c})
			}
		}
	}
	return all
}

// run runs one cell.
func run(t *testing.T, server *redistest.Server, who, name string, window time.Duration) report.Row {
	t.Helper()
	w, known := workload.Named(name)
	c, ok := workload.ContenderOf(w, who)
	if !ok || !known {
		t.Fatalf("no contender %q or no workload %q", who, name)
	}
	one := scenario.Scenario{
		Contender: c, Workload: w.Of(c), Timing: contend.Timing{Window: window, Cool: contend.Quick.Timing.Cool},
		Server: server, Dir: t.TempDir(), Name: "bench:" + name,
	}
	row, err := one.Run()
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// byTurns opens a contender twice and lets both take one name by turns, with
// several callers each.
func byTurns(t *testing.T, server *redistest.Server, c contend.Contender) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var locks atomic.Int64
	for range 2 {
		s, err := c.Open(contend.Setup{Addr: server.Addr()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
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
func turns(ctx context.Context, t *testing.T, c contend.Contender, s contend.Session, caller int) (locks int64) {
	m, err := s.Mutex(caller, "bench:sends")
	if err != nil {
		t.Error(err)
		return 0
	}
	for range 5 {
		if err := m.Lock(ctx); err != nil {
			// A bare SET NX does not wait, and a busy machine has seen
			// rueidislock wait for a wake-up that never came.
			if c.IsOurs() {
				t.Error(err)
			}
			continue
		}
		locks++
		if err := m.Unlock(); err != nil {
			t.Error(err)
		}
	}
	return locks
}

// twice opens a contender twice, and lets both lock as in this workload a few
// times, each a name of its own.
func twice(t *testing.T, server *redistest.Server, p pair) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i := range 2 {
		s, err := p.who.Open(contend.Setup{Addr: server.Addr()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m, err := s.Mutex(0, fmt.Sprintf("bench:sends:%d", i))
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if s, ok := m.(contend.Sharer); ok {
				s.Ask(p.workload.Part(k))
			}
			if err := m.Lock(ctx); err != nil {
				t.Fatal(err)
			}
			if err := m.Unlock(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sentAsListed fails where a client sends what is not in its list, or a script calls
// what is. The figure "commands" is a sum over names, see scenario/counters.go.
func sentAsListed(t *testing.T, server *redistest.Server, sends []string, contend func()) {
	t.Helper()
	monitor := watch(t, server.Addr())
	contend()
	server.MustDo(t, "ECHO", "end")
	sent, inScripts := monitor()
	if len(sent) == 0 {
		t.Error("the client sent nothing")
	}
	for _, command := range sent {
		if !scenario.IsUncounted(command) && !slices.Contains(sends, command) {
			t.Errorf("the client sends %s, which is not in its list %v", command, sends)
		}
	}
	for _, command := range inScripts {
		if slices.Contains(sends, command) {
			t.Errorf("a script calls %s, which is in the list of what the client sends", command)
		}
	}
}

// allRows fails where a report lacks a row, or a row of holdfast says that it did not lock.
func allRows(t *testing.T, found report.Report, workloads []contend.Workload, talk fmt.Stringer) {
	t.Helper()
	for _, p := range pairs(workloads, found.Versions["etcd"] != "") {
		i := slices.IndexFunc(found.Rows, func(r report.Row) bool { return r.Workload == p.workload.Name && r.Who == p.who.Who })
		if i < 0 {
			t.Errorf("no row of %s in %s\n%s", p.who.Who, p.workload.Name, talk)
			continue
		}
		row := found.Rows[i]
		if p.who.IsOurs() && row.OpsPerSecond == 0 { // a busy machine may need more than a short window
			row = run(t, redistest.Start(t, redistest.Options{}), row.Who, row.Workload, 10*time.Second)
		}
		if p.who.IsOurs() && (row.OpsPerSecond <= 0 || row.Failed > 0) {
			t.Errorf("%s in %s: got %.0f locks per second and %d failures (%s), want some and none",
				row.Who, row.Workload, row.OpsPerSecond, row.Failed, row.Failure)
		}
	}
}
