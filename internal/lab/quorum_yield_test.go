//go:build unix

package lab_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/internal/script"
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
	d := deploy(t, 5)
	a, b := d.client(holdfast.Options{}), d.client(holdfast.Options{})
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

// A waiter that finds the name held marks it, the release is told for how long that still
// is, and a mark is never cut short. A try marks nothing, nor does the Client that holds.
func TestQuorumScriptWanted(t *testing.T) {
	n := startNode(t, redistest.Options{})
	mark := func() int64 { return number(t, n.server.MustDo(t, "PTTL", "wanted")) }
	waits := func(id, ms string) { n.eval(script.QuorumLock, id, "1", quorumOfTests, ms) }
	n.expect("granted", n.eval(script.QuorumLock, voterA, "1", quorumOfTests, "60000"))
	n.expect("granted", n.eval(script.QuorumLock, voterA, "1", quorumOfTests, "60000"))
	waits("clientA.another.15000|host:1", "60000")
	waits(voterB, "0")
	if got := mark(); got != -2 {
		t.Errorf("after a grant, its repeat, another try of the holder and a try: the mark lives for %d ms, want none", got)
	}
	for _, ms := range []string{"30000", "60000", "30000"} {
		n.expect("held", n.eval(script.QuorumLock, voterB, "1", quorumOfTests, ms))
	}
	if got := mark(); got <= 30000 || got > 60000 {
		t.Errorf("the mark lives for %d ms, want what the longest asked for, 60,000", got)
	}
	n.expect("not held", n.eval(script.QuorumUnlock, voterB))
	released := n.expect("released", n.eval(script.QuorumUnlock, voterA))
	if got := number(t, released[len(released)-1]); got <= 30000 || got > 60000 {
		t.Errorf("the release was told %d ms, want 60,000", got)
	}
	n.expect("granted", n.lock(voterB, n.now()))
	n.server.MustDo(t, "DEL", "wanted")
	released = n.expect("released", n.eval(script.QuorumUnlock, voterB))
	if got := released[len(released)-1]; got != "-2" {
		t.Errorf("nobody waits: the release was told %s, want -2", got)
	}
}
