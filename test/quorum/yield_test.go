//go:build unix

package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// standstill watches the machine: what it returns tells the longest time for which nothing
// ran, in which no bound can hold.
func standstill(t *testing.T) (longest func() time.Duration) {
	const each = 5 * time.Millisecond
	stop, done := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		most := time.Duration(0)
		for last := time.Now(); ; {
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(each):
			}
			now := time.Now()
			most = max(most, now.Sub(last)-each)
			last = now
		}
	}()
	return sync.OnceValue(func() time.Duration {
		close(stop)
		return <-done
	})
}

// A process that locks and releases in a loop leaves the name to one that asks at random
// moments, on real servers too.
func TestQuorumLoopYields(t *testing.T) {
	t.Parallel()
	d := clienttest.Deploy(t, 5)
	a, b := d.Client(holdfast.QuorumOptions{}), d.Client(holdfast.QuorumOptions{})
	const asks = 20
	longest := standstill(t)
	ctx, stop := context.WithCancel(t.Context())
	var loops, askers sync.WaitGroup
	waits := map[time.Duration][]time.Duration{}
	var mu sync.Mutex
	for _, hold := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond} {
		name := fmt.Sprint(hold)
		loops.Go(func() {
			for ctx.Err() == nil {
				if lease, err := a.Mutex(name).Lock(ctx); err == nil {
					time.Sleep(hold)
					_ = lease.Release()
				}
			}
		})
		askers.Go(func() {
			for _, moment := range rand.Perm(asks) { // spread over two rounds of the loop
				moment := (float64(moment) + rand.Float64()) / asks
				time.Sleep(time.Duration(moment * float64(2*hold+100*time.Millisecond)))
				began := time.Now()
				lease, err := b.Mutex(name).Lock(ctx)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				mu.Lock()
				waits[hold] = append(waits[hold], time.Since(began))
				mu.Unlock()
				_ = lease.Release()
			}
		})
	}
	askers.Wait()
	stop()
	loops.Wait()
	still := longest()
	for hold, took := range waits {
		slices.Sort(took)
		median, most := took[len(took)/2], took[len(took)-1]
		t.Logf("holds of %v: median %v, longest %v; standstill %v", hold, median, most, still)
		if want := hold/2 + 250*time.Millisecond + still; median > want {
			t.Errorf("holds of %v: got a median of %v, want %v at most", hold, median, want)
		}
		if want := hold + 1500*time.Millisecond + still; most > want {
			t.Errorf("holds of %v: the longest wait took %v, want %v at most", hold, most, want)
		}
	}
}

// A waiter that finds the name held marks it for its Client, and a mark is not cut short. A
// try marks nothing. A release learns for how long another
// Client has the name marked, also where its id was not the holder, and marks it behind that.
func TestQuorumScriptWanted(t *testing.T) {
	n := startNode(t, redistest.Options{})
	waits := func(id, ms string) { n.eval(script.QuorumLock, id, "1", quorumOfTests, ms) }
	marked := func(when, by string, least, most int64) {
		t.Helper()
		if got := n.server.MustDo(t, "GET", "wanted"); got != by {
			t.Errorf("%s: marked by %q, want %q", when, got, by)
		}
		if got := number(t, n.server.MustDo(t, "PTTL", "wanted")); got < least || got > most {
			t.Errorf("%s: the mark lives for %d ms, want %d to %d", when, got, least, most)
		}
	}
	unlock := func(word string, least, most int64, args ...string) {
		t.Helper()
		reply := n.expect(word, n.eval(script.QuorumUnlock, args...))
		if got := number(t, reply[len(reply)-1]); got < least || got > most {
			t.Errorf("unlock of %v: told %d ms, want %d to %d", args, got, least, most)
		}
	}
	n.expect("granted", n.eval(script.QuorumLock, voterA, "1", quorumOfTests, "60000"))
	n.expect("granted", n.eval(script.QuorumLock, voterA, "1", quorumOfTests, "60000"))
	waits(voterB, "0")
	marked("after a grant, its repeat and a try", "", -2, -2)
	unlock("released", -2, -2, voterA, "50")
	marked("nobody waits", "", -2, -2)

	n.expect("granted", n.lock("clientA.third.15000|host:1", n.now()))
	for _, ms := range []string{"30000", "60000", "30000"} {
		waits(voterB, ms)
	}
	marked("the longest counts", "clientB", 30001, 60000)
	unlock("not held", -2, -2, voterA)
	unlock("not held", -2, -2, voterB, "50")
	marked("unlocks that come not back, or of its own", "clientB", 30001, 60000)
	waits("clientC.first.15000|host:1", "60000")
	waits("clientC.first.15000|host:1", "60000")
	marked("two Clients wait", "*", 30001, 60000)
	unlock("not held", 30001, 60000, voterB, "10000")
	marked("behind the longest that a poll takes", "clientB", 5001, 10625)
	unlock("released", 5001, 10625, "clientA.third.15000|host:1", "20000")
	marked("behind it", "clientA", 10626, 20625)
	unlock("not held", -2, -2, "clientA.third.15000|host:1", "60000")
	marked("a repeat", "clientA", 10626, 20625)
}
