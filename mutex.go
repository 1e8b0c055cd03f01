package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Mutex locks one name. It has no state of its own: any number of them, in any
// process, for the same name are the same lock. Make it with Client.Mutex.
type Mutex struct {
	// Reentrant lets a caller whose context belongs to a lease of this name
	// share that lease, with its token, instead of getting ErrDeadlock. The
	// last Release ends it: until then Done and Context go on, also those of a share
	// that was given back, of which Err says so. Set it before the first use.
	Reentrant bool

	// MinHold makes whoever gets the name by this Mutex keep it for at least
	// this long: when the lease is given back earlier, the name rests, and
	// nobody gets it, in this process or another, before the time has passed
	// since the grant. So what runs under it runs at most once per MinHold, also
	// when it is quick, and when its process dies: then the name stays locked
	// until the time, or if that is longer the TTL, is over. Such a lease has
	// a tenure of its own. Where MinHold is longer than the TTL, or the name had
	// to be waited for, Lock takes one more round trip, which makes sure of that
	// before the lease begins. At most MaxMinHold; it does not work on a quorum.
	//
	// It is no schedule. A call that comes a moment before MinHold is over is
	// refused, so with MinHold as long as the period of a timer ticks are
	// lost. Use Client.OnceEvery for that.
	MinHold time.Duration

	// MaxHold ends the lease when it has lasted this long, by the clock of
	// this process and whether Redis answers or not: its context is cancelled,
	// cause MaxHold, and it is not renewed any more. The name stays locked
	// until Release, or for Grace, for work that is stopping; then others
	// get it. Callers who share a lease, see Reentrant, share its end. It costs
	// no round trip.
	MaxHold time.Duration

	// Grace is how long the name stays locked after MaxHold if Release does not come
	// before; it is free when the TTL ends in any case. Default: 2 s. It must not be
	// negative, nor longer than the TTL. It means nothing without MaxHold. Work that goes on after it runs
	// beside the next holder's. Nothing but the fencing token stops it then: give
	// Token to the resource, and let that refuse a token below the highest it has seen.
	Grace time.Duration

	// Owner is the label under which people see leases of this Mutex, instead of
	// Options.Owner: for a program that locks for others, such as a server. It
	// is cut and cleaned as that is. Each call of Lock then has a tenure of its own, and stands in
	// line with those of other processes.
	Owner string

	// TTL is the ttl of leases of this Mutex, instead of Options.TTL and within its
	// bounds, on a quorum at most MaxQuorumTTL; what is said of Owner holds for it, too. Attempts to reach Redis
	// are still timed by Options.TTL.
	TTL time.Duration

	// NoRenew makes leases that are not renewed: each ends a TTL after Redis was asked for it, less a
	// hundredth and 2 ms, unless Lease.Extend is called before. At its end it is lost, cause
	// Expired, and the name is given back at once, so work under it must have stopped by
	// then. Loss of the name is noticed at that end at the latest. CheckHeld and EnsureHeld notice it
	// earlier; they prolong nothing here. A Revoke that is not heard at once, as in a Cluster, is noticed
	// likewise. After a wait Lock takes one more round trip, so that the lease begins with its whole TTL.
	// Such a lease can't be exported. What is said of Owner holds for it, too.
	NoRenew bool

	client    *Client
	name      string
	left      *[]*goodbye // of a Multi, which waits for all of them together
	candidate *candidate  // of an Election; else nil
}

// Mutex makes the lock of a name. A name that can't be a key is told by Lock,
// since names often come from outside the program.
func (c *Client) Mutex(name string) *Mutex { return &Mutex{client: c, name: name} }

// Name is the name that this Mutex locks.
func (m *Mutex) Name() string { return m.name }

// Lock waits until the name is ours, first come first served, and returns the
// lease. ctx bounds the wait only, so a timeout takes the place of the number of tries and
// the delay between them that other libraries have. When ctx ends, Lock returns its error after
// 20 ms at most. It waits that long for Redis to confirm that nothing is left of the call.
// Otherwise, and on a quorum, the call is undone in the background. While Redis does not answer, Lock goes on trying
// for a TTL (1 to 15 s) and then returns ErrUnreachable. Under the context of a lease that is
// over the error is context.Canceled, and context.Cause says why. Other errors: ErrName, ErrKind,
// ErrDeadlock, ErrTooSlow, ErrReplicas, ErrQuorum, ErrClosed, a ServerError that no retry mends.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, false) }

// TryLock is Lock without waiting for a holder: a name that is held, or wanted
// by callers before us, is a *HeldError, also under the context of an own lease of
// it. ctx bounds the one round trip.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, true) }

func (m *Mutex) acquire(ctx context.Context, try bool) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := m.client.core
	if err := m.checkHold(); err != nil {
		return nil, err
	}
	if held := c.heldUnder(ctx, m.name); held != nil && (m.Reentrant || held.err() == nil) {
		return m.again(ctx, held, try)
	}
	w := c.newCaller(try)
	w.least, w.most, w.grace, w.left = m.MinHold, m.MaxHold, m.Grace, m.left
	defer w.free(c)
	if err := c.enter(m, w, ctx.Done() == nil); err != nil {
		return nil, err
	}
	return w.await(ctx, m.client)
}

// again is a Lock under the context of a lease of this very name.
func (m *Mutex) again(ctx context.Context, u *turn, try bool) (*Lease, error) {
	err := u.err()
	switch {
	case err != nil:
		return nil, underEnded(err)
	case m.Reentrant && u.line.shared == nil:
	case try:
		return nil, u.held()
	default:
		return nil, ErrDeadlock
	}
	lease, sure, err := m.share(u)
	if err != nil {
		return nil, underEnded(err)
	}
	if sure {
		return lease, nil
	}
	if err := u.ensure(ctx, 0); err != nil { // or the least time would end with the process
		m.unshare(lease)
		return nil, err
	}
	return lease, nil
}

// underEnded is the error of a call under the context of a lease that is over: the
// context has ended, or does so in this moment.
func underEnded(cause error) error {
	return fmt.Errorf("holdfast: the context belongs to a lease that is over: %w: %w", context.Canceled, cause)
}

// unshare gives a shared lease back that nobody gets: the name does not rest for it.
func (m *Mutex) unshare(lease *Lease) {
	c := m.client.core
	c.mu.Lock()
	lease.turn.holdNoLonger(m.MinHold)
	c.mu.Unlock()
	_ = lease.Release() // the others have theirs
}

// share adds a lease to a turn; sure: L lives for the least time that it asks for.
func (m *Mutex) share(u *turn) (lease *Lease, sure bool, err error) {
	c := m.client.core
	c.mu.Lock()
	defer c.unlock()
	if e := u.ended.Load(); e != nil {
		return nil, false, e.err
	}
	u.shares++
	u.holdLonger(m.MinHold)
	return &Lease{turn: u, client: m.client}, m.MinHold == 0 || u.since.add(m.MinHold) <= u.tenure.minHold.lives, nil
}

// Locker is what Do can run a function under.
type Locker interface {
	Lock(ctx context.Context) (*Lease, error)
}

// Do runs f while it holds the lock. f gets a context that ends when the lease
// is lost. The error is f's own, joined with ErrLost where the lease was over
// before its release, or with ErrUnknown.
func Do(ctx context.Context, locker Locker, f func(ctx context.Context, lease *Lease) error) error {
	return under(ctx, locker.Lock, f)
}

// hold is what a function can be run under.
type hold interface {
	Context(parent context.Context) context.Context
	Release() error
}

// under runs f while it holds what lock gives.
func under[L hold](ctx context.Context, lock func(context.Context) (L, error), f func(context.Context, L) error) (err error) {
	lease, err := lock(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if released := lease.Release(); released != nil {
			err = errors.Join(err, released)
		}
	}()
	return f(lease.Context(ctx), lease)
}
