package holdfast

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
)

// RWMutex locks a name for any number of readers, or for one writer. It serves in the
// order of arrival: a reader that comes after a writer waits for it. So neither readers
// nor writers starve. Each reader has its own lease, token and expiry. Make an RWMutex
// with [Client.RWMutex].
//
// A dead reader keeps writers out for at most one TTL. A writer that dies while it
// waits delays the readers behind it for at most 2 s.
//
// Tokens are unique and rise with each lease. Several readers hold at a time, so only
// writers should pass their token to a resource.
//
// [Options.Linger] has no effect.
type RWMutex struct {
	// MaxHold ends a lease after this long, like [Mutex.MaxHold]. Set it before the
	// first use. A negative value panics.
	MaxHold time.Duration

	// Grace is how long the name stays held after MaxHold without a Release, like
	// [Mutex.Grace]. No resource can refuse late reads by their token, so Grace should
	// be longer than a reader takes to stop.
	Grace time.Duration

	// Owner and TTL replace [Options.Owner] and [Options.TTL] for leases of this
	// RWMutex, like [Mutex.Owner] and [Mutex.TTL].
	Owner string
	TTL   time.Duration

	client *Client
	name   string
}

// RWMutex returns the reader-writer lock of a name. Lock and RLock return [ErrName] if
// the name cannot be a key.
func (c *Client) RWMutex(name string) *RWMutex { return &RWMutex{client: c, name: name} }

// Name returns the name that this RWMutex locks.
func (m *RWMutex) Name() string { return m.name }

// Lock waits until this caller holds the name alone. It blocks and fails like
// [Mutex.Lock]. [ErrKind] means that the name has another kind. Under the context of a
// lease of this name, also a reader's, it returns [ErrDeadlock]: a reader cannot become
// a writer. [Lease.Downgrade] makes a writer a reader.
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) {
	return m.acquire(ctx, keyspace.Writer, false)
}

// TryLock is Lock without waiting for a holder. If the name is held or has earlier
// waiters, it returns a [*HeldError], also under a lease of this name. ctx bounds the
// wait for Redis.
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.acquire(ctx, keyspace.Writer, true)
}

// RLock waits until this caller holds the name together with other readers. It blocks
// and fails like Lock.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) {
	return m.acquire(ctx, keyspace.Reader, false)
}

// TryRLock is RLock without waiting for a holder. If a writer holds the name or any
// caller waits for it, it returns a [*HeldError]. ctx bounds the wait for Redis.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) {
	return m.acquire(ctx, keyspace.Reader, true)
}

// RLocker returns a [Locker] for [Do] that calls RLock.
func (m *RWMutex) RLocker() Locker { return lockFunc(m.RLock) }

func (m *RWMutex) acquire(ctx context.Context, letter byte, try bool) (*Lease, error) {
	weight := int64(1)
	if letter == keyspace.Writer {
		weight = machine.WholeCapacity
	}
	k := m.client.sharedKind(m.Owner, m.TTL, letter, weight, machine.WholeCapacity)
	return (&Mutex{client: m.client, name: m.name, kind: k, TTL: m.TTL, MaxHold: m.MaxHold, Grace: m.Grace}).acquire(ctx, try)
}
