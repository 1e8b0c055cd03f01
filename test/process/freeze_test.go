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

// The holder is frozen for longer than its ttl. Others go on. When it wakes up
// its first look at the lease says so, its context ends at once, and its release
// leaves alone what is another's now.
func TestProcessHolderFrozen(t *testing.T) {
	t.Parallel()
	const name, ttl = "holder-frozen", 3 * time.Second
	const soon = time.Second // promised are 250 ms; the machine may be slow
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B")
	calls := contend(t, server, name, processes)
	first := calls[0].held()

	calls[0].about("watch")
	processes[0].freeze()
	second := calls[1].held()
	rises(t, first, second)
	processes[0].thaw()

	end := calls[0].lost("watched")
	if !end.Woke || end.Look == "" {
		t.Errorf("the first look after waking up: got nil, want ErrLost (%+v)", end)
	}
	if end.Took > soon {
		t.Errorf("the context ended %v after waking up, want at most %v", end.Took, soon)
	}
	calls[0].lost("look")
	calls[0].lost("release")
	again := processes[0].lock(name)
	clienttest.InQueue(t, server, name, "A")
	renewed(t, calls[1]) // by now the late release has done what it can
	if got := clienttest.Holder(t, server, name); got != "B" || !again.pending() {
		t.Errorf("after the late release: got the name with %q, want B", got)
	}
	calls[1].release()
	rises(t, second, again.held())
	again.release()
	clienttest.NothingLeft(t, server, name)
}

// renewed waits until the lease was renewed once more.
func renewed(t *testing.T, c call) {
	t.Helper()
	before := deadlinesOf([]call{c})[0]
	clienttest.Eventually(t, "the holder renews", func() bool {
		r := c.about("look")
		if r.Err != "" {
			t.Fatalf("%s: got %s, want a lease that lasts", c.p.owner, r.Err)
		}
		return time.Unix(0, r.At).Add(r.Remaining).Sub(before) > 50*time.Millisecond
	})
}

// The store is frozen for longer than the ttl. The leases end by their own
// deadlines, before the locks can; when the store goes on, so do all.
func TestProcessesWhileTheStoreIsFrozen(t *testing.T) {
	t.Parallel()
	const one, two, ttl = "frozen-one", "frozen-two", 5 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B", "C")
	calls := contend(t, server, one, []*process{processes[0], processes[2]})
	waiting := calls[1]
	calls[1] = processes[1].lock(two)
	first := calls[0].held()
	calls[1].held()
	for _, c := range calls {
		renewed(t, c)
		c.about("watch")
	}

	deadlines, expiries := freezeBetweenRenewals(t, server, []string{one, two}, calls)
	for i, c := range calls {
		if !deadlines[i].Before(expiries[i]) {
			t.Errorf("%s: the deadline is %v after the end of the lock", c.p.owner, deadlines[i].Sub(expiries[i]))
		}
		end := c.lost("watched")
		if end.Cause != holdfast.Expired {
			t.Errorf("%s: lost with cause %q, want %q", c.p.owner, end.Cause, holdfast.Expired)
		}
		if late := time.Unix(0, end.At).Sub(deadlines[i]); late > time.Second {
			t.Errorf("%s: the context ended %v after the deadline", c.p.owner, late)
		}
	}
	time.Sleep(time.Until(slices.MaxFunc(expiries, time.Time.Compare).Add(100 * time.Millisecond)))
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}

	rises(t, first, waiting.held())
	for _, c := range calls {
		c.lost("release")
	}
	waiting.release()
	for i, name := range []string{one, two} {
		again := processes[i].lock(name)
		again.held()
		again.release()
	}
	clienttest.NothingLeftSoon(t, server, one, two)
}

// freezeBetweenRenewals freezes the server and returns the deadlines of the
// leases and when their locks end, not earlier.
func freezeBetweenRenewals(t *testing.T, server *redistest.Server, names []string, calls []call) (deadlines, expiries []time.Time) {
	t.Helper()
	for range 20 {
		before := deadlinesOf(calls)
		expiries = nil
		for _, name := range names {
			var end time.Time
			for range 5 { // a busy machine may answer late, which makes the end seem nearer
				now := time.Now()
				if e := now.Add(clienttest.PTTL(t, server, name) - time.Millisecond); e.After(end) {
					end = e
				}
			}
			expiries = append(expiries, end)
		}
		if err := server.Freeze(); err != nil {
			t.Fatal(err)
		}
		deadlines = deadlinesOf(calls)
		if slices.EqualFunc(before, deadlines, func(b, a time.Time) bool { return a.Sub(b) < 50*time.Millisecond }) {
			return deadlines, expiries
		}
		if err := server.Thaw(); err != nil { // a renewal came between
			t.Fatal(err)
		}
	}
	t.Fatal("the leases were renewed whenever the server was to be frozen")
	return nil, nil
}

// deadlinesOf are the deadlines of leases, or a moment earlier.
func deadlinesOf(calls []call) []time.Time {
	var all []time.Time
	for _, c := range calls {
		c.p.t.Helper()
		r := c.about("look")
		all = append(all, time.Unix(0, r.At).Add(r.Remaining))
	}
	return all
}
