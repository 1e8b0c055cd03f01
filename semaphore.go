package holdfast

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ErrSize means that a number of permits is less than 1 or more than the semaphore has.
var ErrSize = wire.ErrSize

// MaxSize is the largest size of a [Semaphore].
const MaxSize = protocol.MaxSize // 2 to the power of 30

// Semaphore shares a number of permits of a name among all processes. Acquire serves in
// the order of arrival, so a request for many permits is not overtaken by small ones.
// Each acquisition is a lease with its own token and expiry. The permits of a dead
// process return after one TTL. Make a Semaphore with [Client.Semaphore].
//
// The size belongs to the name. Its first use sets the size, and only Resize changes
// it. Redis remembers it as long as the newest token, see [Options.TokenMemory], and for
// 30 days after each use if Resize has set it. A program that asks for another size gets
// the stored one, a [SizeMismatch] event and a warning in the log.
//
// Tokens are unique and rise with each lease. Several leases hold at a time, so a
// resource that refuses lower tokens would refuse healthy holders.
//
// At most two thousand leases with more than one permit should be held at a time.
// [Options.Linger] has no effect.
type Semaphore struct {
	// MaxHold ends a lease after this long, like [Mutex.MaxHold]. Set it before the
	// first use. A negative value panics.
	MaxHold time.Duration

	// Grace is how long the permits stay held after MaxHold without a Release, like
	// [Mutex.Grace].
	Grace time.Duration

	// Owner and TTL replace [Options.Owner] and [Options.TTL] for leases of this
	// Semaphore, like [Mutex.Owner] and [Mutex.TTL].
	Owner string
	TTL   time.Duration

	client *Client
	name   string
	size   atomic.Int64
}

// Semaphore returns the semaphore of a name. The size is the number of permits if the
// name has no size yet. Semaphore panics if size is not from 1 to [MaxSize]. Acquire
// returns [ErrName] if the name cannot be a key.
func (c *Client) Semaphore(name string, size int) *Semaphore {
	validateSize(size)
	s := &Semaphore{client: c, name: name}
	s.size.Store(int64(size))
	return s
}

func validateSize(size int) {
	if size < 1 || size > MaxSize {
		panic(fmt.Sprintf("holdfast: the size of a Semaphore is %d: it must be from 1 to %d", size, MaxSize))
	}
}

// Name returns the name of the semaphore.
func (s *Semaphore) Name() string { return s.name }

// Size returns the size that this Semaphore asks for: the argument of
// [Client.Semaphore] or of its newest Resize. The actual size is in Size of
// admin.State.
func (s *Semaphore) Size() int { return int(s.size.Load()) }

// Acquire waits until this caller holds n permits, first come, first served, and
// returns their lease. Release gives all of them back, and [Lease.Keep] some. ctx
// bounds the wait only, like in [Mutex.Lock].
//
// It returns [ErrSize] if n is more than the size, also after a Resize during the wait.
// It returns [ErrKind] if the name has another kind, and [ErrDeadlock] under the
// context of a lease of the same name. Other errors are those of Mutex.Lock.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, false)
}

// TryAcquire is Acquire without waiting for a holder. If the permits are not free or
// others wait, it returns a [*HeldError] for the holder whose time ends first. It never
// returns [ErrDeadlock]: under a lease of the same name it takes further permits. ctx
// bounds the wait for Redis.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, true)
}

func (s *Semaphore) acquire(ctx context.Context, n int, try bool) (*Lease, error) {
	size := s.size.Load()
	if n < 1 || n > MaxSize {
		return nil, machine.SizeError(s.name, int64(n), size)
	}
	k := s.client.sharedKind(s.Owner, s.TTL, keyspace.Permits, int64(n), size)
	return (&Mutex{client: s.client, name: s.name, kind: k, TTL: s.TTL, MaxHold: s.MaxHold, Grace: s.Grace}).acquire(ctx, try)
}

// Permits returns a [Locker] for [Do] that acquires n permits.
func (s *Semaphore) Permits(n int) Locker {
	return lockFunc(func(ctx context.Context) (*Lease, error) { return s.Acquire(ctx, n) })
}

// Resize sets the size of the name, also while permits are held. If the size grows,
// waiters that fit hold their permits when Resize returns nil. If it shrinks, holders
// keep their permits, and waiters wait until enough are released. A waiter for more
// permits than the new size gets [ErrSize]. Resize panics if size is not from 1 to
// [MaxSize].
//
// Errors: [ErrKind], [ErrClosed], or [ErrUnreachable], after which the size may have
// changed: call it again.
func (s *Semaphore) Resize(ctx context.Context, size int) error {
	validateSize(size)
	e := s.client.engine
	k, err := s.client.openKeys(s.name)
	if err != nil {
		return err
	}
	for {
		reply, err := e.Calls.Run(ctx, e.Patience(), driver.Call{Script: script.SharedResize, Keys: k.WithSize(), Args: []string{wire.Itoa(int64(size)), e.ShardOf(k)}})
		if err != nil {
			return wire.Unanswered(s.name, k.Lock(), err)
		}
		a, err := wire.DecodeAnswer(reply)
		switch {
		case err != nil:
			return wire.Failure(s.name, nil, err)
		case a.Word == wire.OtherKind:
			return publicError(&machine.AnotherKind{Name: s.name, Letter: keyspace.Permits, Size: size, Answer: a})
		case a.Word == wire.Resized:
			s.size.Store(int64(size))
			return nil
		case a.Word != wire.Again:
			return wire.Failure(s.name, nil, fmt.Errorf("resize was answered %q", a.Word))
		}
	}
}
