package sim_test

import (
	"context"
	"errors"
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
