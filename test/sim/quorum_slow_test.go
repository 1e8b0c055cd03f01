package sim_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// If the votes of a majority arrive when the lease would be over, Lock says so, and leaves
// nothing behind.
func TestQuorumTooSlow(t *testing.T) { tooSlow(t, 100*time.Millisecond, 150*time.Millisecond) }

// What is won with less than a third of its life left is undone, and an error
// the second time.
func TestQuorumFloorOnValidity(t *testing.T) { tooSlow(t, 300*time.Millisecond, 230*time.Millisecond) }

// tooSlow locks with a ttl while each vote takes so long, and wants a TooSlowError.
func tooSlow(t *testing.T, ttl, trip time.Duration) {
	t.Helper()
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.passing(func(w way) (f passage) {
			if w.kind == "quorum_lock" {
				f.back = trip
			}
			return f
		})
		p := r.join(id, ttl, 1, 0, 1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := p.client.Mutex("n").Lock(ctx)
		slow, ok := errors.AsType[*holdfast.TooSlowError](err)
		if !ok || !errors.Is(err, holdfast.ErrTooSlow) || slow.TTL != ttl || slow.RoundTrip != trip {
			t.Errorf("Lock = %v (%+v); want a TooSlowError with a TTL of %v and a round trip of %v", err, slow, ttl, trip)
		}
		r.sleep(10 * time.Millisecond)
		for i := range r.nodes {
			if has := r.has(i, "n"); has != "" {
				t.Errorf("node %d has %q, want nothing", i, has)
			}
		}
	})
}

// A machine that was suspended twice in one wait, while the votes came, has no slow network.
func TestQuorumPausedTwiceIsNotTooSlow(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		const ttl = 5 * time.Second
		holder, other := r.join(id, ttl, 1, 0, 1, 2), r.join(id, ttl, 1, 0, 1, 2)
		waiter := r.join(id, ttl, 1, 0, 1, 2)
		polls := make(chan struct{})
		var suspend atomic.Bool
		var late atomic.Int64 // unlocks that the waiter sent
		r.passing(func(w way) (f passage) {
			switch {
			case w.party != waiter.number:
			case w.kind == "quorum_unlock" && w.node == 0:
				late.Add(1)
			case w.kind == "quorum_lock":
				f.out = 10 * time.Millisecond // to the first node; the other votes come 10 ms later
				if w.node > 0 {
					f.out = 20 * time.Millisecond
				}
				if w.node == 1 {
					if suspend.CompareAndSwap(true, false) {
						time.AfterFunc(15*time.Millisecond, func() { waiter.slept.Add(int64(4 * time.Second)) })
					}
					select {
					case polls <- struct{}{}:
					default:
					}
				}
			}
			return f
		})
		first := holder.must(t, "n")
		done := make(chan error, 1)
		go func() {
			b, err := waiter.lock(t.Context(), "n")
			if err == nil {
				err = waiter.release(b)
			}
			done <- err
		}()
		for range 2 {
			<-polls
			r.sleep(21 * time.Millisecond) // it was refused, and polls again later
			late.Store(0)
			_ = holder.release(first)
			suspend.Store(true)
			<-polls
			r.sleep(20*time.Millisecond + time.Microsecond) // it was granted the name, too late
			if n := late.Load(); n != 1 {
				t.Fatalf("the waiter gave back %d late grants, want 1", n)
			}
			var err error
			if first, err = other.lockBy(t.Context(), "n", other.client.Mutex("n").TryLock); err != nil {
				t.Fatal(err)
			}
			holder = other
			r.sleep(10 * time.Second)
		}
		_ = holder.release(first)
		if err := <-done; err != nil {
			t.Errorf("the waiter got %v, want the name", err)
		}
	})
}
