// Package lease serves leases by request: a request takes a lease, and further ones renew,
// show and release it by its text. Packages stream and terraform take leases by [Leases], too.
package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server/internal/locks"
	"github.com/holdfast-go/holdfast/server/internal/outage"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// Leases takes leases with a Client.
type Leases struct {
	Client *holdfast.Client
	Store  *outage.Watch
	Names  *locks.Names
	Logger *slog.Logger
	Life   context.Context // ends when the server shuts down
}

// Lock locks the name of a wish, and waits for it as the wish says. If another holds it,
// the error is holdfast.ErrHeld.
func (l *Leases) Lock(ctx context.Context, v *Wish) (*holdfast.Lease, error) {
	lock, try := l.locks(v)
	if v.Wait == 0 {
		lease, err := try(ctx)
		return lease, reply.Because(ctx, err)
	}
	waiting, cancel := context.WithTimeout(ctx, v.Wait)
	defer cancel()
	lease, err := lock(waiting)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, holdfast.ErrUnreachable) && ctx.Err() == nil {
		return nil, holdfast.ErrHeld
	}
	return lease, reply.Because(ctx, err)
}

// locks returns how the wish is granted: lock waits, try does not.
func (l *Leases) locks(v *Wish) (lock, try func(context.Context) (*holdfast.Lease, error)) {
	switch {
	case v.Of > 0:
		s := l.Client.Semaphore(v.Name, v.Of)
		s.Owner, s.TTL = v.Owner, v.TTL
		return func(ctx context.Context) (*holdfast.Lease, error) { return s.Acquire(ctx, v.Permits) },
			func(ctx context.Context) (*holdfast.Lease, error) { return s.TryAcquire(ctx, v.Permits) }
	case v.Shared || v.Exclusive:
		m := l.Client.RWMutex(v.Name)
		m.Owner, m.TTL = v.Owner, v.TTL
		if v.Shared {
			return m.RLock, m.TryRLock
		}
		return m.Lock, m.TryLock
	}
	m := l.Client.Mutex(v.Name)
	m.Owner, m.TTL = v.Owner, v.TTL
	return m.Lock, m.TryLock
}

// Grant locks, and exports the lease: from then on no process here renews it.
func (l *Leases) Grant(ctx context.Context, v *Wish) (text string, err error) {
	err = l.Store.Do(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(l.Life, func() { cancel(reply.Closing) })()
		lease, err := l.Lock(ctx, v)
		if err != nil {
			return err
		}
		if text, err = lease.Export(); err != nil {
			_ = lease.Release() // it is retried in the background
		}
		return err
	})
	return text, err
}

// Drop releases a lease that no client knows, in the background.
func (l *Leases) Drop(text string) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := l.Client.ReleaseExported(ctx, text); err != nil && !errors.Is(err, holdfast.ErrLost) {
			l.Logger.Warn("server: could not release a lease whose client is gone; it ends with its ttl", "error", err)
		}
	}()
}

// Check asks the store about a lease.
func (l *Leases) Check(ctx context.Context, text string) (*holdfast.ExportedHold, error) {
	return l.ask(ctx, text, l.Client.CheckExported)
}

// Over reports whether the store says that a lease has ended.
func (l *Leases) Over(ctx context.Context, text string) bool {
	_, err := l.Check(ctx, text)
	return errors.Is(err, holdfast.ErrLost)
}

func (l *Leases) ask(ctx context.Context, text string, ask func(context.Context, string) (*holdfast.ExportedHold, error)) (hold *holdfast.ExportedHold, err error) {
	err = l.Store.Do(ctx, func(ctx context.Context) error {
		hold, err = ask(ctx, text)
		return err
	})
	return hold, err
}
