//go:build unix

package process_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

const outage = 3 * time.Second

// restart kills the server and starts it again after the outage.
func restart(t *testing.T, server *redistest.Server, empty bool) {
	t.Helper()
	server.Kill()
	time.Sleep(outage)
	if err := server.Restart(empty); err != nil {
		t.Fatal(err)
	}
}

// The server loses its data. The holder learns that it has lost the name from
// the server's answer, long before its deadline; the waiters get it one after
// the other, with tokens that rise on.
func TestProcessesServerLosesItsData(t *testing.T) {
	const name, alone, ttl = "data-lost", "data-lost-alone", 10 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B", "C", "D")
	calls := contend(t, server, name, processes)
	first := calls[0].held()
	single := processes[1].lock(alone) // that nobody else wants
	single.held()
	for _, c := range []call{calls[0], single} {
		c.about("watch")
	}

	restart(t, server, true)
	if end := calls[0].lost("watched"); end.Cause == holdfast.Expired {
		t.Error("A learned of the loss by its deadline, want by the server's answer")
	}
	if end := single.lost("watched"); end.Cause != holdfast.Gone {
		t.Errorf("B, which nobody took the name from: got cause %q, want %q", end.Cause, holdfast.Gone)
	}
	serveAll(t, first, calls[1:])
	calls[0].lost("release")

	l := newLoad(t, name, 2, 200)
	work(t, l, processes, clienttest.Patience)
	l.check(t, len(processes))
	clienttest.NothingLeftSoon(t, server, name)
}

// serveAll waits until all have had their turn, in whatever order, one at a
// time and with tokens that rise.
func serveAll(t *testing.T, last reply, waiting []call) {
	t.Helper()
	released := int64(0)
	for len(waiting) > 0 {
		var now int
		clienttest.Eventually(t, "one of those who wait gets the name", func() bool {
			for i, c := range waiting {
				if !c.pending() {
					now = i
					return true
				}
			}
			return false
		})
		c := waiting[now]
		waiting = append(waiting[:now:now], waiting[now+1:]...)
		r := c.held()
		rises(t, last, r)
		if r.At < released {
			t.Errorf("%s had the name %v before the one before it released it", c.p.owner, time.Duration(released-r.At))
		}
		last, released = r, c.release().At
	}
}

// The server comes back with its data. The holder keeps its lease and renews it,
// and the waiters keep their places.
func TestProcessesServerKeepsItsData(t *testing.T) {
	const name, ttl = "data-kept", 10 * time.Second
	server := redistest.Start(t, redistest.Options{AOF: true})
	processes := startProcesses(t, server, ttl, "A", "B", "C", "D")
	calls := contend(t, server, name, processes)
	last := calls[0].held()

	restart(t, server, false)
	renewed(t, calls[0])
	clienttest.InQueue(t, server, name, "B", "C", "D")
	listening(t, server, name, "B", "C", "D") // who does not is passed over
	calls[0].release()
	for _, c := range calls[1:] {
		r := c.held()
		rises(t, last, r)
		last = r
		c.release()
	}
	clienttest.NothingLeftSoon(t, server, name)
}

// All connections are cut and all scripts forgotten, again and again, while
// processes work: no caller hears of it, and no turn is lost or given twice.
func TestProcessesThroughCutConnections(t *testing.T) {
	const name = "cut"
	const total, every = 6000, 30 // turns; between two faults
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 0, "A", "B", "C", "D")
	l := newLoad(t, name, 4, total)
	calls := begin(l, processes)
	faults := [][]any{
		{"SCRIPT", "FLUSH"},
		{"CLIENT", "KILL", "TYPE", "normal"},
		{"CLIENT", "KILL", "TYPE", "pubsub"},
	}
	made := 0
	for ; progress(t, l, every, calls); made++ {
		server.MustDo(t, faults[made%len(faults)]...)
	}
	finish(t, calls, clienttest.Patience)
	if least := total / every / 6; made < least {
		t.Errorf("made %d faults, want at least %d", made, least)
	}
	l.check(t, len(processes))
	clienttest.NothingLeftSoon(t, server, name)
}

// progress waits until the load has come a bit further, so that a slow machine
// gets its faults more slowly. It returns false when all are done.
func progress(t *testing.T, l load, turns int, calls []call) bool {
	t.Helper()
	from, over := count(t, l), false
	clienttest.Eventually(t, "the load goes on", func() bool {
		over = !slices.ContainsFunc(calls, call.pending)
		return over || count(t, l) >= from+turns
	})
	return !over
}

func count(t *testing.T, l load) int {
	t.Helper()
	n, err := counted(l.Counter)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
