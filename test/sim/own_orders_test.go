package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
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
