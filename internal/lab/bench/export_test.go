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
		open: func(string) (session, error) { return workSession{}, nil },
	})
}

// IsUncounted and Sends are what tells commands of clients from those of scripts.
var IsUncounted = isUncounted

func Sends(who string) []string {
	c, _ := contenderNamed(who)
	return c.sends
}

// Who are all that are measured, limits included.
func Who() []string {
	var all []string
	for _, c := range append(contenders(), limits...) {
		all = append(all, c.who)
	}
	return slices.DeleteFunc(all, func(who string) bool { return who == None })
}

// Workloads are the names of those that all contenders run.
func Workloads() []string {
	var all []string
	for _, w := range workloads {
		if w.limit == "" {
			all = append(all, w.name)
		}
	}
	return all
}

// Cell runs one short cell.
func Cell(t *testing.T, server *redistest.Server, who, name string) Row {
	t.Helper()
	c, ok := contenderNamed(who)
	if !ok {
		t.Fatalf("no contender %q", who)
	}
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
	cell := cell{contender: c, workload: workloads[i], timing: quick.timing, server: server, dir: t.TempDir(), name: "bench:" + name}
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
		s, err := c.open(server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		for range 3 {
			wg.Go(func() {
				for range 5 {
					release, err := s.lock(ctx, "bench:sends")
					if err != nil {
						// "set" does not wait, and a busy machine has seen
						// rueidislock wait for a wake-up that never came.
						if who == "holdfast" {
							t.Error(err)
						}
						continue
					}
					locks.Add(1)
					if err := release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if locks.Load() == 0 {
		t.Error("nobody got the lock")
	}
}
