package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
)

// Multi locks several names, all or none of them. It has no state of its own. Make it
// with [Client.Multi].
//
// Free names are locked in one step, up to 100 at a time. In a Cluster this needs the
// same hash tag in all keys. Otherwise names are locked one after the other, as on a
// quorum. The same happens if one of them is held or in use in this process.
//
// Multi always locks names in the order of their bytes. So callers that use only Multi
// never wait for each other in a circle. A caller that locks a further name under a
// Multi can be part of such a circle, unless that name comes later in the order.
type Multi struct {
	client *Client
	names  []string // sorted, each once
}

// Multi returns the lock of several names. A repeated name counts once. Lock returns an
// error if the list is empty, and [ErrName] if a name cannot be a key.
func (c *Client) Multi(names ...string) *Multi {
	names = slices.Clone(names)
	slices.Sort(names)
	return &Multi{client: c, names: slices.Compact(names)}
}

// Names returns the names in the order in which they are locked.
func (m *Multi) Names() []string { return slices.Clone(m.names) }

// Lock waits until it holds all names. If a name is held, Lock waits for it in its
// queue. Meanwhile it holds the names that come before it in the order, and other
// callers wait for those. If Lock loses one of them, it waits for that name again.
//
// ctx bounds the whole wait. When ctx ends, Lock returns a [*WaitError] within 20 ms, and
// the client releases the names, in the background if necessary. Under the context of a
// lease of one of the names, Lock returns [ErrDeadlock] and locks nothing. Other errors
// are those of [Mutex.Lock].
func (m *Multi) Lock(ctx context.Context) (*MultiLease, error) {
	return m.acquire(ctx, false)
}

// TryLock is Lock without waiting for a holder. If a name is held or has earlier
// waiters, TryLock returns a [*HeldError] for it and holds no name. If two calls
// compete for free names, one succeeds.
//
// Up to 100 names that one script can lock are never held after a failure, not even for
// a moment. Otherwise the names before the held one are held for a short time, in which
// others can find them held.
func (m *Multi) TryLock(ctx context.Context) (*MultiLease, error) {
	return m.acquire(ctx, true)
}

func (m *Multi) acquire(ctx context.Context, try bool) (*MultiLease, error) {
	if err := m.validate(ctx, try); err != nil {
		return nil, err
	}
	for {
		lease, err := m.inOrder(ctx, try)
		if _, lost := err.(*LostError); !lost { //nolint:errorlint // a WaitError may have the loss of another lease as its cause
			return lease, err
		}
	}
}

// inOrder locks the names in their order: up to maxGroup at once, or one by one if one
// script cannot lock these. It returns ErrLost if a name was lost before all were
// locked.
func (m *Multi) inOrder(ctx context.Context, try bool) (*MultiLease, error) {
	all := &MultiLease{}
	under, done := ctx, func() {} // also ends when one of the leases is lost
	defer func() { done() }()     // else the turns would keep the Client of a dropped MultiLease alive
	add := func(leases ...*Lease) {
		if len(all.leases) == 0 {
			under, done = context.WithCancel(ctx)
		}
		for _, lease := range leases {
			all.leases = append(all.leases, lease)
			under = lease.Context(under)
		}
	}
	for names := range slices.Chunk(m.names, maxGroup) {
		leases, err := m.atOnce(under, all, names, try)
		switch {
		case err == nil:
			add(leases...)
			continue
		case !errors.Is(err, machine.ErrOneByOne) && (try || !errors.Is(err, ErrHeld)):
			return nil, all.giveUp(ctx, under, m.client, err)
		}
		for _, name := range names {
			mutex := m.client.Mutex(name)
			mutex.leftovers = &all.leftovers
			lease, err := mutex.acquire(under, try)
			if err != nil {
				return nil, all.giveUp(ctx, under, m.client, err)
			}
			add(lease)
		}
	}
	return all.whole()
}

// atOnce locks names by one script, if none is held. It returns machine.ErrOneByOne if
// one script cannot lock them.
func (m *Multi) atOnce(ctx context.Context, all *MultiLease, names []string, try bool) ([]*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, &WaitError{Name: names[0], Err: err, Cause: context.Cause(ctx)}
	}
	turns, err := m.client.engine.AcquireTogether(ctx, names, try, &all.leftovers)
	got := &MultiLease{}
	for _, u := range turns {
		got.leases = append(got.leases, &Lease{turn: u, client: m.client})
	}
	if err = publicError(err); err != nil {
		all.giveBack(got, err)
		return nil, err
	}
	return got.leases, nil
}

// giveUp releases the leases of a failed attempt and returns its error. That is the
// loss of a lease, or err. If the end of the caller's ctx has caused err, it is the
// error of ctx.
func (l *MultiLease) giveUp(ctx, under context.Context, c *Client, err error) error {
	lost := l.lost()
	l.giveBack(l, err)
	if under.Err() != nil {
		c.engine.AwaitLeftovers(l.leftovers)
	}
	switch own := ctx.Err(); {
	case own == nil && lost != nil:
		return lost
	case own != nil && errors.Is(err, under.Err()): // the caller does not know under
		return inCallersWords(ctx, err)
	}
	return err
}

// inCallersWords returns err, the end of a context below ctx, as the end of ctx.
func inCallersWords(ctx context.Context, err error) error {
	e, ok := err.(*WaitError) //nolint:errorlint // made here, never wrapped
	if !ok {
		return ctx.Err()
	}
	own := *e
	own.Err, own.Cause = ctx.Err(), context.Cause(ctx)
	return &own
}

// whole returns the lease of all names, or the loss of one of them.
func (l *MultiLease) whole() (*MultiLease, error) {
	if lost := l.lost(); lost != nil {
		l.giveBack(l, lost)
		return nil, lost
	}
	l.over = l.Context(context.Background())
	return l, nil
}

// validate returns an error for bad names and for a deadlock, before anything is locked.
func (m *Multi) validate(ctx context.Context, try bool) error {
	if len(m.names) == 0 {
		return &NameError{"", "is missing: Multi needs at least one name"}
	}
	c := m.client
	for _, name := range m.names {
		if _, err := keyspace.KeysOf(c.Prefix(), name); err != nil {
			return &NameError{name, err.Error()}
		}
		if held := c.heldUnder(ctx, name); held != nil && c.engine.Err(held) == nil {
			if try {
				return publicError(c.engine.Held(held))
			}
			return fmt.Errorf("%w: %s", ErrDeadlock, keyspace.Shorten(name))
		}
	}
	return nil
}

// Do runs f while it holds all names, like the function [Do].
func (m *Multi) Do(ctx context.Context, f func(ctx context.Context, lease *MultiLease) error) error {
	return under(ctx, m.Lock, f)
}

// MultiLease is one caller's hold of several names. It is over when the lease of any
// name is over. The other names stay held until Release.
type MultiLease struct {
	leases    []*Lease         // in the order of the names
	leftovers engine.Leftovers // of a failed attempt
	over      context.Context

	once   sync.Once // a second Release waits for the first
	result error
}

// Leases returns the leases of the names, in the order of Names. If you release one of
// them, the MultiLease is over, but the others stay held.
func (l *MultiLease) Leases() []*Lease { return slices.Clone(l.leases) }

// EnsureHeld asks Redis in parallel whether each name is held, and renews the leases.
// See [Lease.EnsureHeld]. It returns nil if all names are held, and otherwise joins
// their errors.
func (l *MultiLease) EnsureHeld(ctx context.Context) error {
	return l.each(func(lease *Lease) error { return lease.EnsureHeld(ctx) })
}

// Names returns the locked names in order.
func (l *MultiLease) Names() []string {
	names := make([]string, len(l.leases))
	for i, lease := range l.leases {
		names[i] = lease.Name()
	}
	return names
}

// Token returns the fencing token of one of the names. See [Lease.Token]. It panics if
// name was not locked.
func (l *MultiLease) Token(name string) int64 {
	for _, lease := range l.leases {
		if lease.Name() == name {
			return lease.Token()
		}
	}
	panic(fmt.Sprintf("holdfast: Token of %q, which is not a name of this MultiLease", keyspace.Shorten(name)))
}

// Err returns nil while all names are held. After that it returns [ErrReleased], or the
// [*LostError] of the first lost name in order.
func (l *MultiLease) Err() error {
	if err := l.lost(); err != nil {
		return err
	}
	for _, lease := range l.leases {
		if err := lease.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (l *MultiLease) lost() error {
	for _, lease := range l.leases {
		if err := lease.Err(); errors.Is(err, ErrLost) {
			return err
		}
	}
	return nil
}

// Done returns a channel that is closed when the lease of any name ends.
func (l *MultiLease) Done() <-chan struct{} { return l.over.Done() }

// Remaining returns the shortest remaining time of all names. See [Lease.Remaining].
func (l *MultiLease) Remaining() time.Duration {
	shortest := time.Duration(1<<63 - 1)
	for _, lease := range l.leases {
		shortest = min(shortest, lease.Remaining())
	}
	return shortest
}

// Deadline returns the earliest deadline of all names. See [Lease.Deadline].
func (l *MultiLease) Deadline() time.Time { return time.Now().Add(l.Remaining()) }

// Context returns a context derived from parent that ends when the lease of any name
// ends. [context.Cause] returns which and why. Locking one of the names under it
// returns [ErrDeadlock].
func (l *MultiLease) Context(parent context.Context) context.Context {
	for _, lease := range l.leases {
		parent = lease.Context(parent)
	}
	return parent
}

// Release gives all names back in parallel. It blocks no longer than one
// [Lease.Release] and joins the errors of the names. A second call changes nothing and
// returns the same. A nil MultiLease returns an error.
func (l *MultiLease) Release() error {
	if l == nil {
		return errNoLease
	}
	l.once.Do(func() { l.result = l.release() })
	return l.result
}

func (l *MultiLease) release() error { return l.each((*Lease).Release) }

// each calls do for all leases in parallel, and joins the errors.
func (l *MultiLease) each(do func(*Lease) error) error {
	results := make([]error, len(l.leases))
	var running sync.WaitGroup
	for i, lease := range l.leases {
		running.Go(func() { results[i] = do(lease) })
	}
	running.Wait()
	return errors.Join(results...)
}

// giveBack releases the leases that a failed attempt got. After ErrHeld it waits for
// the releases. After other errors it releases in the background; giveUp waits for that
// if the context has ended.
func (l *MultiLease) giveBack(got *MultiLease, err error) {
	switch {
	case errors.Is(err, ErrHeld):
		_ = got.release() // a release without an answer is repeated in the background
	case len(got.leases) > 0:
		l.leftovers.Add(got.release)
	}
}

// maxGroup is the largest number of names for one script. 100 names keep a server busy
// for less than 2 ms.
const maxGroup = 100
