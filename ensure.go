package holdfast

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/machine"
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
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return err
	}
	if l.turn.Local.Kind.NoRenew {
		_, err := l.client.check(ctx, l.turn)
		return err
	}
	return l.client.ensure(ctx, l.turn, 0)
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
	if err := cmp.Or(ctx.Err(), l.Err()); err != nil {
		return 0, err
	}
	return l.client.check(ctx, l.turn)
}

func (c *core) check(ctx context.Context, u *machine.Turn) (time.Duration, error) {
	r, err := c.ask(ctx, u, u.Check)
	if err = c.verdict(ctx, u, err); err != nil {
		return 0, err
	}
	return max(min(u.Ends(), r.HeldUntil).Sub(c.clock.Exact()), 0), nil
}

// ask sends a request about the tenure of a turn that has not ended, and waits for the result.
func (c *core) ask(ctx context.Context, u *machine.Turn, send func(now clock.Instant) *machine.Request) (*machine.Request, error) {
	c.mu.Lock()
	now := c.clock.Exact()
	if e := u.HasEnded(now); e != nil {
		c.unlock()
		return nil, endError(e)
	}
	answered := make(chan error, 1)
	r := send(now)
	c.asked[r] = answered
	c.unlock()
	return r, c.awaitResult(ctx, r, answered)
}

// ensure renews and reserves at least that number of tokens.
func (c *core) ensure(ctx context.Context, u *machine.Turn, tokens int64) error {
	return c.prolong(ctx, u, tokens, 0)
}

// prolong asks Redis once, to reserve at least that number of tokens, and to prolong a
// lease that is not renewed by itself.
func (c *core) prolong(ctx context.Context, u *machine.Turn, tokens int64, extends time.Duration) error {
	n := u.Local
	r, err := c.ask(ctx, u, func(now clock.Instant) *machine.Request { return u.Prolong(now, tokens, extends) })
	if want := c.process.WaitReplicas; c.err(u) == nil && err == nil && r.Acked < want {
		return &ReplicasError{Name: n.Name, Want: want, Got: r.Acked, Connected: r.Connected}
	}
	return c.verdict(ctx, u, err)
}

// verdict is the error of a call that has asked Redis whether the lease is still held.
func (c *core) verdict(ctx context.Context, u *machine.Turn, err error) error {
	said, refused := wire.AsServerError(err)
	switch over := c.err(u); {
	case over != nil:
		return over
	case err == nil || err == ctx.Err(): //nolint:errorlint // that very one
		return err
	case refused && !wire.Transient(said):
		return wire.Failure(u.Local.Name, nil, err)
	}
	return wire.Failure(u.Local.Name, ErrUnreachable, err)
}

// awaitResult waits for the result of a renewal.
func (c *core) awaitResult(ctx context.Context, r *machine.Request, answered <-chan error) (err error) {
	late := time.NewTimer(r.Attempt) // a driver may not heed its context
	defer late.Stop()
	select {
	case err = <-answered:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = wire.ErrNoAnswer
	case <-c.stopped:
		err = wire.ErrNoAnswer
	}
	c.mu.Lock()
	delete(c.asked, r)
	c.mu.Unlock()
	return err
}
