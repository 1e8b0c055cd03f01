package holdfast

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/machine"
)

// Lease is one caller's hold of a name, from the grant to Release or loss. It is lost
// when its deadline passes without an answered renewal, or when Redis reports that the
// name is free or has another holder. The deadline is earlier than the expiry in Redis.
// So if a process stops its work when its lease ends, it stops before the next holder
// starts. A Lease is safe for concurrent use.
type Lease struct {
	turn     *machine.Turn
	client   *Client // keeps it from being collected
	released atomic.Bool

	mu     sync.Mutex // protects result, and makes a second Release wait for the first
	result error
}

var errNoLease = errors.New("holdfast: Release of a nil lease: Lock returned an error, check it first")

// Name returns the locked name.
func (l *Lease) Name() string { return l.turn.Name.Text }

// Token returns the fencing token: unique among all leases of the name and greater than
// the token of every earlier lease. Pass it to the resource, which must refuse a token
// lower than the highest it has seen.
func (l *Lease) Token() int64 { return l.turn.Token }

// Err returns nil while the lease is held, and then a [*LostError] or [ErrReleased]. It
// reads the clock, so its result is correct also after the process was suspended.
func (l *Lease) Err() error {
	if l.released.Load() && l.turn.Ended.Load() == nil { // other leases share the turn
		return ErrReleased
	}
	return publicError(l.client.engine.Err(l.turn))
}

// Done returns a channel that is closed when the lease ends.
//
// The garbage collector closes a [Client] that your program no longer uses, and its
// leases end. A call of Done prevents this until the lease ends: without a Release, the
// lease is then renewed until the program ends.
func (l *Lease) Done() <-chan struct{} { return l.client.engine.Done(l.turn, l.client) }

// Remaining returns the time until the deadline of the holder. After the deadline it is
// zero or less. Every answered renewal moves the deadline. The time while the machine
// is suspended counts.
func (l *Lease) Remaining() time.Duration {
	if l.Err() != nil {
		return 0
	}
	return l.client.engine.Remaining(l.turn)
}

// Deadline returns the deadline of the holder in wall-clock time, for display. Every
// renewal moves it. Use [Lease.Err] for decisions, because a wall clock can step.
func (l *Lease) Deadline() time.Time { return time.Now().Add(l.Remaining()) }

// Context returns a context derived from parent that ends when the lease ends.
// [context.Cause] then returns a [*LostError] or [ErrReleased]. Lock of the same name
// with this context returns [ErrDeadlock]. The context has no deadline, because
// renewals move the deadline of the lease.
//
// If parent does not end, each call of Context uses memory until the lease ends. So
// derive one context and use it for all work under the lease.
//
// A Client that the program has dropped is closed by the garbage collector, see [New].
// This context keeps the Client open while the program uses the context. After a call of
// the context's Done, the Client stays open until the context ends.
func (l *Lease) Context(parent context.Context) context.Context {
	under := parent
	if p, ok := parent.(*leaseContext); ok {
		under = p.Context // p would keep its Client alive until this turn ends
	}
	ctx, cancel := context.WithCancelCause(under)
	d := &derivation{cancel: cancel}
	if forget := l.client.engine.Watch(l.turn, d); forget != nil {
		context.AfterFunc(ctx, forget) // its parent may end long before the lease
	}
	return &leaseContext{ctx, parent, l.client, l.turn, d}
}

// leaseContext has the turn to which a context belongs, so that Lock under it can
// return ErrDeadlock.
type leaseContext struct {
	context.Context
	parent context.Context // what Lease.Context was given
	client *Client         // keeps it from being collected
	turn   *machine.Turn
	of     *derivation
}

// derivation ends one context at the end of its turn. The engine refers to it.
type derivation struct {
	cancel context.CancelCauseFunc
	waited atomic.Pointer[leaseContext] // set by Done, so that the engine keeps the context; else nil
}

// End implements [engine.Ender].
func (d *derivation) End(ended *machine.Ending) { d.cancel(publicError(ended.Err)) }

// Done makes the engine keep the context until it ends: a caller may keep only the
// channel.
func (c *leaseContext) Done() <-chan struct{} {
	if c.of.waited.Load() == nil {
		c.of.waited.Store(c)
	}
	return c.Context.Done()
}

// leaseKey asks a context for the nearest leaseContext.
type leaseKey struct{}

func (c *leaseContext) Value(key any) any {
	if _, ok := key.(leaseKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// heldUnder returns the turn of a name to which ctx belongs, or nil.
func (c *Client) heldUnder(ctx context.Context, name string) *machine.Turn {
	for {
		nearest, ok := ctx.Value(leaseKey{}).(*leaseContext)
		if !ok {
			return nil
		}
		if nearest.client == c && nearest.turn.Name.Text == name {
			return nearest.turn
		}
		ctx = nearest.parent
	}
}

// Release ends the lease and gives the name back. It takes no context, because a
// release must not be cancelled. It blocks for two seconds at most; the client then
// retries in the background. Further calls change nothing and return the same error.
//
// Errors: [ErrLost] with its cause, if the lease ended before the call; [ErrUnknown],
// if Redis did not answer. A nil Lease returns an error, so a defer before the check of
// Lock's error does not panic.
//
// A nil error does not prove that you held the lock until the call. If another client
// deleted or took the key after the last renewal, Release can return nil. It returns
// ErrLost if the store never repeats a command, see [driver.SendsOnce], and Redis answers
// before the deadline. Stores of goredisstore.New and rueidisstore.New may repeat one.
// Release also returns nil if a local waiter takes over, if the name lingers (see
// [Options.Linger]), or on a quorum. To check at the end of the work, call
// [Lease.EnsureHeld] before Release.
func (l *Lease) Release() error {
	if l == nil {
		return errNoLease
	}
	return l.release(false)
}

// release is Release. waive drops MinHold, because no work was done under the lease.
func (l *Lease) release(waive bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released.Swap(true) {
		if err := l.client.engine.Release(l.turn, waive); err != nil {
			l.result = publicError(err)
		}
	}
	return l.result
}

// Replicas returns how many replicas acknowledged the grant or the newest counted
// renewal. It returns 0 without [Options.WaitReplicas].
func (l *Lease) Replicas() int { return int(l.turn.Tenure.Replicas.Load()) }

// Revoked reports whether a revocation or a steal ended the lease, and returns the given
// reason. It does not wait. After a revocation the name stays held until Release, at
// most for one ttl. Revoke and Steal are in package admin.
func (l *Lease) Revoked() (reason string, ok bool) {
	var lost *LostError
	if !errors.As(l.Err(), &lost) || lost.Cause != Revoked && lost.Cause != Stolen {
		return "", false
	}
	return lost.Reason, true
}
