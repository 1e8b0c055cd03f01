//go:build unix

package process_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// The holder is killed in the middle of its MinHold, which is longer than the
// ttl: nobody gets the name before it is over, and then the next does.
func TestProcessMinHoldKilled(t *testing.T) {
	t.Parallel()
	const name, ttl, least = "min-hold-killed", time.Second, 5 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B", "C")
	first := processes[0].keep(name, least)
	dead := first.held()
	second := processes[1].keep(name, least)
	clienttest.InQueue(t, server, name, "B")
	third := processes[2].keep(name, least)
	clienttest.InQueue(t, server, name, "B", "C")
	time.Sleep(2 * ttl) // renewed meanwhile, which must not cut it
	left := clienttest.PTTL(t, server, name)
	from := time.Now()
	processes[0].kill()

	next := second.held()
	cooledDownSince(t, dead, next, least)
	if got := time.Unix(0, next.At); got.After(from.Add(left + clienttest.Slack)) {
		t.Errorf("granted %v after the least time was over", got.Sub(from)-left)
	}
	rises(t, dead, next)
	t.Logf("granted %v after the least time of the dead", time.Duration(next.At-dead.At)-least)
	second.release()
	last := third.held()
	cooledDownSince(t, next, last, least)
	t.Logf("granted %v after the least time of who released", time.Duration(last.At-next.At)-least)
	third.release()
	if got := server.MustDo(t, "GET", clienttest.LockKey(name)); got != "cooldown|C" {
		t.Errorf("the lock key is %q, want that it cools down", got)
	}
	clienttest.Eventually(t, "the name is free", func() bool { return server.MustDo(t, "EXISTS", clienttest.LockKey(name)) == "0" })
}

// The holder is frozen, as long as it takes others to get the name, and wakes up.
func TestProcessMinHoldFrozen(t *testing.T) {
	t.Parallel()
	const name, ttl, least = "min-hold-frozen", time.Second, 4 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B")
	first := processes[0].keep(name, least)
	held := first.held()
	second := processes[1].keep(name, least)
	clienttest.InQueue(t, server, name, "B")
	processes[0].freeze()
	next := second.held()
	cooledDownSince(t, held, next, least)
	processes[0].thaw()
	first.lost("release")
	if got := clienttest.Holder(t, server, name); got != "B" {
		t.Errorf("held by %q, want B", got)
	}
	second.release()
}

// keep asks for the name and for a MinHold.
func (p *process) keep(name string, least time.Duration) call {
	p.t.Helper()
	return p.order(order{Do: "lock", Name: name, Least: least})
}

// cooledDownSince fails the test if a grant came earlier than it may: least, but for the
// round trip of the grant before.
func cooledDownSince(t *testing.T, before, after reply, least time.Duration) {
	t.Helper()
	const roundTrip = 300 * time.Millisecond
	if apart := time.Duration(after.At - before.At); apart < least-roundTrip {
		t.Errorf("granted %v after the grant before, want %v", apart, least)
	}
}
