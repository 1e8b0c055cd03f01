package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// ownOrders are holds that can be ended, each with what the same Client asks for next. A
// mutex and an election have one holder, which Inspect names in another place.
var ownOrders = map[string]struct {
	lock, next func(c *holdfast.Client) (*holdfast.Lease, error)
}{
	"mutex": {
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").Lock(context.Background()) },
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").TryLock(context.Background()) },
	},
	"permits": {
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("n", 2).Acquire(context.Background(), 2)
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("n", 2).TryAcquire(context.Background(), 2)
		},
	},
	"reader": {
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").RLock(context.Background()) },
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").TryLock(context.Background()) },
	},
	"writer": {
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").Lock(context.Background()) },
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.RWMutex("n").TryRLock(context.Background())
		},
	},
	"leader": {
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Election("n").Campaign(context.Background(), "a")
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").TryLock(context.Background()) },
	},
}

// A Client ends its own hold, and nobody else can tell it, since it has no subscription:
// the Admin of the Client lets it ask, so the lease is over when the order returns, and the
// name is free for its next try.
func TestOrdersOfItsOwn(t *testing.T) {
	for name, c := range ownOrders {
		for _, steal := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "/steal", false: "/revoke"}[steal], func(t *testing.T) {
				play(t, func(t *testing.T, s stage) {
					client := s.process("p0", 15*time.Second).Client
					lease, err := c.lock(client)
					if err != nil {
						t.Fatal(err)
					}
					state, err := admin.Of(client).Inspect(t.Context(), "n")
					if err != nil || state.Holder == nil {
						t.Fatalf("Inspect: %+v, %v", state, err)
					}
					want := holdfast.Revoked
					if steal {
						want = holdfast.Stolen
						err = admin.Of(client).Steal(t.Context(), "n", state.Holder.Hash, reason)
					} else {
						_, err = admin.Of(client).Revoke(t.Context(), "n", state.Holder.Hash, reason)
					}
					if err != nil {
						t.Fatal(err)
					}
					var lost *holdfast.LostError
					if err := lease.Err(); !errors.As(err, &lost) || lost.Cause != want || lost.Reason != reason {
						t.Errorf("Err is %v when the order returns; want lost: %s: %s", err, want, reason)
					}
					if !steal { // else nobody waits for it
						_ = lease.Release()
					}
					next, err := c.next(client)
					if err != nil {
						t.Fatalf("the next try: %v", err)
					}
					if next.Token() <= lease.Token() {
						t.Errorf("token %d after %d", next.Token(), lease.Token())
					}
					if err := errors.Join(next.Release(), lease.Release()); !errors.Is(err, holdfast.ErrLost) || errors.Is(err, holdfast.ErrUnknown) {
						t.Errorf("Release: %v; want ErrLost", err)
					}
					time.Sleep(100 * time.Millisecond)
					s.none("n")
				})
			})
		}
	}
}

// The Client's own hold is stolen while callers of it wait: they ask again.
func TestStealOfItsOwnWithWaiters(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p0, "n")
		s.Watch.Leaves(holder.held)
		s.steal(p0, "n", reason)
		holder.over(time.Millisecond, holdfast.Stolen, reason)
		s.soon("the next", next, 50*time.Millisecond).release()
	})
}

// The part was made smaller, and Redis has not done it when the Client orders about it: the
// order is about the former id, and the lease is over all the same when it returns.
func TestOrdersOfItsOwnFormerID(t *testing.T) {
	for name, steal := range map[string]bool{"steal": true, "revoke": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				down := true
				s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = down && step.Kind == "shared_renew" })
				holder := s.take(p0, "n", write)
				if err := holder.becomes(read); !errors.Is(err, holdfast.ErrUnknown) {
					t.Errorf("Downgrade: %v, want ErrUnknown", err)
				}
				hash := s.hashOf(p0, "n", "p0")
				var err error
				want := holdfast.Revoked
				s.Watch.Leaves(holder.held)
				s.Guard(func() { down = false })
				if steal {
					want = holdfast.Stolen
					err = admin.Of(p0.Client).Steal(t.Context(), "n", hash, reason)
				} else {
					_, err = admin.Of(p0.Client).Revoke(t.Context(), "n", hash, reason)
				}
				if err != nil {
					t.Fatal(err)
				}
				if lost, ok := errors.AsType[*holdfast.LostError](holder.Err()); !ok || lost.Cause != want {
					t.Errorf("Err is %v when the order returns; want lost: %s", holder.Err(), want)
				}
				holder.over(time.Second, want, reason)
				_ = holder.Release()
				time.Sleep(time.Second)
				s.none("n")
			})
		})
	}
}
