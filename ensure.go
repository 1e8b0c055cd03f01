package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// EnsureHeld asks Redis once whether the lease is held, and renews it. Call it before a
// step that cannot be undone and checks no token. The lease can still be lost after the
// answer. If the lease has [Mutex.NoRenew], EnsureHeld only checks it, like
// [Lease.CheckHeld].
//
// EnsureHeld blocks until Redis answers or ctx ends, at most 3 s. A nil error means
// that the name was held when Redis was asked. [ErrLost] and [ErrReleased] mean that
// the lease is over. After [ErrUnreachable], [ErrReplicas] or a [driver.ServerError], the
// lease lasts until its deadline.
func (l *Lease) EnsureHeld(ctx context.Context) error {
	defer runtime.KeepAlive(l.client) // else the garbage collector may close it during the call
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return err
	}
	if l.turn.Name.Kind.NoRenew {
		_, err := l.client.engine.Check(ctx, l.turn)
		return publicError(err)
	}
	return publicError(l.client.engine.Prolong(ctx, l.turn, 0, 0))
}

// CheckHeld asks Redis once whether the lease is held, and changes nothing. Use
// [Lease.EnsureHeld] to prolong it, too. It returns the time until the holder must
// stop: [Lease.Remaining], or less if another client has shortened the expiry of the
// key.
//
// CheckHeld blocks until Redis answers or ctx ends, at most 3 s. A nil error means that
// the name was held when Redis was asked. It does not ask replicas; on a quorum it asks
// a majority. Errors are those of EnsureHeld except [ErrReplicas]. An ErrLost ends the
// lease.
func (l *Lease) CheckHeld(ctx context.Context) (time.Duration, error) {
	defer runtime.KeepAlive(l.client) // else the garbage collector may close it during the call
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return 0, err
	}
	left, err := l.client.engine.Check(ctx, l.turn)
	return left, publicError(err)
}

// Extend prolongs a lease with [Mutex.NoRenew]. The lease then lasts at least
// 0.99 × ttl - 2 ms from now. A ttl shorter than the remaining time changes nothing.
// [Mutex.MaxHold] still ends the lease. Extend panics if ttl is not from [MinTTL] to
// [MaxTTL].
//
// If this process dies, the name stays held until the longest requested ttl has passed.
// Steal of package admin frees it earlier.
//
// Extend blocks until Redis answers or ctx ends, at most 3 s. [ErrLost] and
// [ErrReleased] mean that the lease is over. After [ErrUnreachable] or the error of
// ctx, Redis may have prolonged the name, but the deadline of the lease is not changed.
// After [ErrReplicas] or a [driver.ServerError] it is not changed either. Extend returns an
// error for a lease without NoRenew, and on a quorum for a ttl longer than the TTL of
// the Mutex.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	defer runtime.KeepAlive(l.client) // else the garbage collector may close it during the call
	n := l.turn.Name
	switch {
	case ttl < MinTTL || ttl > MaxTTL:
		panic(fmt.Sprintf("holdfast: Extend by %v: it must be from %v to %v", ttl, MinTTL, MaxTTL))
	case !n.Kind.NoRenew:
		return wire.Failure(n.Text, nil, errors.New("Extend works only for a lease with Mutex.NoRenew: this lease is renewed automatically"))
	case ttl > n.Kind.TTL:
		if err := l.client.lacks(n.Text, "Extend by more than the ttl of the Mutex"); err != nil {
			return err
		}
	}
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return err
	}
	return publicError(l.client.engine.Prolong(ctx, l.turn, 0, ttl))
}

// Confirm asks Redis at once whether this Client still holds the name. A lease that was
// revoked or stolen is over when Confirm returns. It blocks until Redis has answered, or
// until ctx ends. It returns the error of ctx, or [ErrClosed]; the leases say the rest.
func (c *Client) Confirm(ctx context.Context, name string) error {
	defer runtime.KeepAlive(c) // else the garbage collector may close it during the call
	return c.engine.Verify(ctx, name)
}
