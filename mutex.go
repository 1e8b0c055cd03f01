package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Mutex locks one name. It has no state of its own: all Mutexes of a name, in any
// process, are the same lock. Make it with [Client.Mutex] and set its fields before the
// first use.
type Mutex struct {
	// Reentrant changes what Lock does if its ctx belongs to a lease of this name. Lock
	// then returns a share of that lease instead of [ErrDeadlock]. All shares have the
	// same token. The last Release ends the lease, its Done and its contexts. Err of a
	// released share returns [ErrReleased].
	Reentrant bool

	// MinHold keeps the name unavailable for at least this long after the grant, also
	// after an earlier Release (cool-down). It is at most [MaxMinHold]. After the death
	// of the holder the name is free after the longer of MinHold and TTL. Such a lease
	// has a tenure of its own.
	//
	// MinHold is not a schedule: if it equals the period of a timer, ticks are lost.
	// Use [Client.OnceEvery] for that. On a quorum, MinHold is an error.
	MinHold time.Duration

	// MaxHold ends the lease after this long, also if Redis does not answer. Its
	// contexts end with cause [MaxHold], and the client stops the renewals. The name
	// stays held until Release, or for Grace, so that the work can stop. Callers that
	// share a lease (see Reentrant) lose it together.
	MaxHold time.Duration

	// Grace is how long the name stays held after MaxHold without a Release; the end of
	// the TTL frees it in any case. The default is 2 s. Grace must not be negative or
	// longer than the TTL. Work that goes on after Grace runs beside the next holder.
	// Only a check of the fencing token in the resource stops it then.
	Grace time.Duration

	// Owner replaces [Options.Owner] for leases of this Mutex, in a program that locks
	// for others. It is truncated and sanitised like Options.Owner. Each call of Lock then has
	// its own tenure and its own place in the queue in Redis.
	Owner string

	// TTL replaces [Options.TTL] for leases of this Mutex, with the same bounds; on a
	// quorum it is at most [MaxQuorumTTL]. Each call of Lock then has its own tenure,
	// as with Owner, so callers of one process that contend for a name wait far longer
	// than with Options.TTL. Options.TTL still limits how long Lock retries.
	TTL time.Duration

	// NoRenew makes leases that the client does not renew. A lease ends one TTL after
	// the request, minus 1 % and 2 ms, unless [Lease.Extend] prolongs it. It is then
	// lost with cause [Expired], and the client releases the name at once. So another
	// holder can start at once: your work must have stopped before.
	//
	// Without renewals the holder may notice a loss only when the lease ends. This
	// includes a revocation whose notification did not arrive, for example in a
	// Cluster. Call CheckHeld or EnsureHeld to notice it earlier. Such a lease cannot be
	// exported. Each call of Lock has its own tenure, as with Owner.
	NoRenew bool

	client    *Client
	name      string
	leftovers *engine.Leftovers // of a Multi, which waits for what all its names left, together
	kind      *machine.Kind     // of an Election, a Semaphore or an RWMutex; else nil
}

// Mutex returns the lock of a name. Lock returns [ErrName] if the name cannot be a key.
func (c *Client) Mutex(name string) *Mutex { return &Mutex{client: c, name: name} }

// Name returns the name that this Mutex locks.
func (m *Mutex) Name() string { return m.name }

// Lock waits until this caller holds the name, first come, first served, and returns
// the lease. ctx limits only the wait and does not end the lease.
//
// When ctx ends, Lock returns a [*WaitError] within 20 ms: the error of ctx with what is
// known about the holder and the queue. The client removes the call from the queue, and
// continues in the background if Redis has not confirmed it yet. If a deadline ends
// while Redis seems unreachable, the error also is [ErrUnreachable], so test for that
// before [context.DeadlineExceeded].
//
// While Redis is unreachable, Lock retries for one TTL (1 to 15 s) and then returns
// [ErrUnreachable]. The first Lock of a new Client retries for up to 2 s longer.
//
// Under the context of a lease that is over, the error matches [context.Canceled] and
// the reason, such as [ErrLost].
//
// Other errors: [ErrName], [ErrKind], [ErrDeadlock], [ErrTooSlow], [ErrReplicas],
// [ErrQuorum], [ErrClosed], or a permanent [driver.ServerError].
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, false) }

// TryLock is Lock without waiting for a holder. If the name is held or has earlier
// waiters, it returns a [*HeldError], also if ctx belongs to a lease of the same name.
// ctx limits the wait for Redis. Other errors are those of Lock.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, true) }

func (m *Mutex) acquire(ctx context.Context, try bool) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, &WaitError{Name: m.name, Err: err, Cause: context.Cause(ctx)}
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	further := try && m.kind != nil && m.kind.Shared() // a try never waits, so it can get a further part without a deadlock
	if held := m.client.heldUnder(ctx, m.name); held != nil && !further && (m.Reentrant || m.client.engine.Err(held) == nil) {
		return m.again(ctx, held, try)
	}
	k := m.kind
	if k == nil && (m.Owner != "" || m.TTL != 0 || m.NoRenew) {
		k = m.ownKind()
	}
	return m.lock(ctx, k, try)
}

// lock asks the engine for a lease. k is nil for the kind of the Client.
func (m *Mutex) lock(ctx context.Context, k *machine.Kind, try bool) (*Lease, error) {
	turn, err := m.client.engine.Acquire(ctx, engine.Lock{
		Name: m.name, Kind: k, Try: try, Leftovers: m.leftovers,
		Limits: lifetime.Limits{MinHold: m.MinHold, MaxHold: m.MaxHold, Grace: m.Grace},
	})
	if err != nil {
		return nil, publicError(err)
	}
	return &Lease{turn: turn, client: m.client}, nil
}

// again locks the name under the context of a lease of the same name.
func (m *Mutex) again(ctx context.Context, u *machine.Turn, try bool) (*Lease, error) {
	c := m.client
	over := c.engine.Err(u)
	switch {
	case over != nil:
		return nil, underEnded(over)
	case m.Reentrant && !u.Name.Kind.Shared():
	case try:
		return nil, publicError(c.engine.Held(u))
	default:
		return nil, ErrDeadlock
	}
	ended, err := c.engine.Share(ctx, u, m.MinHold)
	switch {
	case ended != nil:
		return nil, underEnded(ended.Err)
	case err != nil:
		return nil, publicError(err)
	}
	return &Lease{turn: u, client: c}, nil
}

// underEnded returns the error of a call under the context of a lease that has ended.
func underEnded(cause error) error {
	return fmt.Errorf("holdfast: the context belongs to a lease that has ended: %w: %w", context.Canceled, publicError(cause))
}

// Locker is a lock for [Do].
type Locker interface {
	Lock(ctx context.Context) (*Lease, error)
}

// lockFunc makes a function a Locker.
type lockFunc func(ctx context.Context) (*Lease, error)

func (f lockFunc) Lock(ctx context.Context) (*Lease, error) { return f(ctx) }

// Do locks, runs f, and releases the lock. It blocks until f has returned and the
// release is confirmed or two seconds have passed.
//
// The context of f is derived from ctx and ends when the lease is lost. f should return
// then. To limit only the wait, call Lock and Release instead of Do.
//
// Do returns the error of Lock or the error of f. It joins [ErrLost] to the error of f
// if the lease ended before f returned. It joins [ErrUnknown] if Redis did not confirm
// the release.
func Do(ctx context.Context, locker Locker, f func(ctx context.Context, lease *Lease) error) error {
	return under(ctx, locker.Lock, f)
}

// hold is a *Lease or a *MultiLease.
type hold interface {
	Context(parent context.Context) context.Context
	Release() error
}

// under runs f while it holds the lease that lock returns.
func under[L hold](ctx context.Context, lock func(context.Context) (L, error), f func(context.Context, L) error) (err error) {
	lease, err := lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, lease.Release()) }()
	return f(lease.Context(ctx), lease)
}

// joined returns err, joined with another if that is not nil.
func joined(err, another error) error {
	if another == nil {
		return err
	}
	return errors.Join(err, another)
}

// validate panics if a field is out of range. It returns an error if a quorum does not
// support a field.
func (m *Mutex) validate() error {
	ttl := m.client.engine.TTL
	if m.TTL != 0 {
		ttl = m.TTL
		validateTTL("Mutex.TTL", ttl)
	}
	switch {
	case m.Grace < 0 || m.Grace > ttl:
		panic(fmt.Sprintf("holdfast: Grace of %s is %v: it must not be negative, and at most the TTL, which is %v", m.name, m.Grace, ttl))
	case m.MinHold < 0 || m.MinHold > MaxMinHold:
		panic(fmt.Sprintf("holdfast: MinHold of %s is %v: it must not be negative, and at most %v", m.name, m.MinHold, MaxMinHold))
	case m.MaxHold < 0:
		panic(fmt.Sprintf("holdfast: MaxHold of %s is %v: it must not be negative", m.name, m.MaxHold))
	case m.TTL > MaxQuorumTTL:
		return m.client.lacks(m.name, fmt.Sprintf("a Mutex.TTL of more than %v", MaxQuorumTTL))
	case m.MinHold > 0:
		return m.client.lacks(m.name, "Mutex.MinHold")
	}
	return nil
}

// ownKind returns the kind of a call with its own tenure.
func (m *Mutex) ownKind() *machine.Kind {
	e := m.client.engine
	return machine.DedicatedKind(cmp.Or(keyspace.CleanOwner(m.Owner), e.Owner), lifetime.Terms{TTL: cmp.Or(m.TTL, e.TTL), NoRenew: m.NoRenew, Memory: e.TokenMemory})
}

// sharedKind returns the kind of a call that takes weight of a capacity. An empty owner and
// a zero ttl mean those of the Client.
func (c *Client) sharedKind(owner string, ttl time.Duration, letter byte, weight, capacity int64) *machine.Kind {
	e := c.engine
	return machine.SharedKind(cmp.Or(keyspace.CleanOwner(owner), e.Owner), lifetime.Terms{TTL: cmp.Or(ttl, e.TTL), Memory: e.TokenMemory}, letter, weight, capacity)
}

// MaxMinHold is the longest [Mutex.MinHold] and the longest interval of [Client.Once].
const MaxMinHold = 31 * 24 * time.Hour

// Steal takes the name from its holder at once and returns a lease of it. Waiters keep
// their places and wait for this lease to end. TWO PROCESSES CAN BELIEVE THAT THEY HOLD
// THE NAME until the old holder notices the loss: see Steal of package admin.
//
// The tenure is the hash of the holder you mean, from Hash of admin.Holder. If it does
// not hold the name any more, Steal returns [ErrTenure] and changes nothing. The holder
// can read the first 200 bytes of reason. The lease is like that of Lock, with the
// fields of this Mutex.
//
// Steal waits only for Redis, and ctx bounds that. After [ErrUnreachable] or the error
// of ctx, the old holder may have lost the name; the next waiter then gets it. After
// [ErrTooSlow] or [ErrReplicas] the old holder has lost the name. Other errors:
// [ErrName], [ErrClosed], a [driver.ServerError], and an error for a bad tenure or reason. It
// returns [ErrKind] for a Semaphore or RWMutex: use package admin. A Mutex of a
// [QuorumClient] returns an error.
func (m *Mutex) Steal(ctx context.Context, tenure, reason string) (*Lease, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	first, err := m.client.stealing(ctx, m.name, tenure, reason)
	if err != nil {
		return nil, err
	}
	k := m.ownKind()
	k.First = first
	return m.lock(ctx, k, false)
}

// stealing checks the arguments and finds the id of the tenure.
func (c *Client) stealing(ctx context.Context, name, tenure, reason string) (*machine.FirstLock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := c.openKeys(name)
	if err == nil {
		err = c.lacks(name, "Mutex.Steal")
	}
	if err != nil {
		return nil, err
	}
	if tenure, reason, err = wire.Revocation(tenure, reason); err != nil {
		return nil, wire.Failure(name, nil, err)
	}
	calls, shard := c.engine.Calls, c.engine.ShardOf(k)
	until := calls.Clock.Now().Add(c.engine.Patience())
	reply, _, err := calls.Until(ctx, until, name, driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{"1", shard}})
	if err != nil {
		return nil, err
	}
	if len(reply) > 0 && reply[0] == "other kind" {
		a, err := wire.DecodeAnswer(reply)
		if err != nil {
			return nil, wire.Failure(name, nil, err)
		}
		return nil, publicError(&machine.AnotherKind{Name: name, Answer: a})
	}
	state, err := wire.DecodeState(reply)
	if err != nil {
		return nil, wire.Failure(name, nil, err)
	}
	if state.Version > 0 {
		return nil, wire.Failure(name, nil, &wire.VersionError{Version: state.Version})
	}
	id := state.Tenure(tenure)
	if id == "" {
		e := tenureError(name, tenure, state.Value, state.Held)
		e.Remaining = state.PTTL
		return nil, e
	}
	return &machine.FirstLock{
		Script: script.Take, Args: []string{shard, id, reason},
		Victim: machine.Victim{ID: id, Hash: tenure, Reason: reason},
	}, nil
}
