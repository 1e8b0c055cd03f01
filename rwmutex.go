package holdfast

import (
	"context"
	"time"
)

// RWMutex locks a name for any number of readers, or for one writer. Whoever
// comes first is served first: a reader that comes after a writer waits for it,
// so neither readers nor writers starve. Each reader has a lease of its own, with
// its own token and its own expiry: one that dies keeps writers out for no longer
// than a TTL, and a writer that dies or hangs while it waits keeps the readers
// behind it out for no longer than a claim window of 2 s.
//
// Tokens are unique and rise with each lease. A writer's is above those of all
// who held before it; readers have several at a time, so only writers should give
// theirs to a resource that refuses lower ones.
//
// A lock costs a round trip, its release another, however many read; waiting costs
// about ten commands per second for all who wait. Nothing is shared between the readers of one process: a thousand of them are a thousand
// leases, which are renewed in pipelines of 128. Linger does not count here, and a
// Client of a quorum has no RWMutex. Make it with Client.RWMutex.
type RWMutex struct {
	// MaxHold ends a lease when it has lasted this long, as Mutex.MaxHold does. Set it
	// before the first use; negative values panic.
	MaxHold time.Duration

	// Grace is how long the name stays locked after MaxHold without a Release, as
	// Mutex.Grace. A reader's token is not the highest, so no resource can refuse its
	// late reads: let Grace be longer than a reader takes to stop.
	Grace time.Duration

	client *Client
	name   string
}

// RWMutex makes the lock of a name. A name that can't be a key is told by Lock.
func (c *Client) RWMutex(name string) *RWMutex { return &RWMutex{client: c, name: name} }

// Name is the name that this RWMutex locks.
func (m *RWMutex) Name() string { return m.name }

// Lock waits until the name is ours alone. It blocks, fails and leaves nothing
// behind as Mutex.Lock does; ErrKind says besides that the name is used as
// another kind of lock. Under the context of a lease of this name, a reader's
// too, it is ErrDeadlock at once: a reader is never made a writer. Lease.Downgrade makes
// a writer a reader.
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, writer, false) }

// TryLock is Lock without waiting: a name that is held, or wanted by callers
// before us, is a *HeldError, also under a lease of this name. ctx bounds the one
// round trip.
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, writer, true) }

// RLock waits until the name is ours together with other readers. It fails as
// Lock does.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, reader, false) }

// TryRLock is RLock without waiting: a name that a writer holds, or for which
// anybody waits, is a *HeldError. ctx bounds the one round trip.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, reader, true) }

// RLocker is a Locker whose Lock is RLock, for Do.
func (m *RWMutex) RLocker() Locker { return readers{m} }

type readers struct{ m *RWMutex }

func (r readers) Lock(ctx context.Context) (*Lease, error) { return r.m.RLock(ctx) }

func (m *RWMutex) acquire(ctx context.Context, letter byte, try bool) (*Lease, error) {
	s := shared{letter: letter, weight: 1, capacity: wholeCapacity, most: m.MaxHold, grace: m.Grace}
	if letter == writer {
		s.weight = wholeCapacity
	}
	return s.acquire(ctx, m.client, m.name, try)
}
