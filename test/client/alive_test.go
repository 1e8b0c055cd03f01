//go:build unix

package client_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

// held is what a test looks at of a lease of some kind.
type held interface {
	Context(parent context.Context) context.Context
	Done() <-chan struct{}
	Release() error
}

// holdings are the ways to hold something.
var holdings = map[string]func(ctx context.Context, c *holdfast.Client) (held, error){
	"mutex": func(ctx context.Context, c *holdfast.Client) (held, error) { return c.Mutex("kept").Lock(ctx) },
	"own ttl": func(ctx context.Context, c *holdfast.Client) (held, error) {
		m := c.Mutex("kept")
		m.TTL = 20 * time.Second
		return m.Lock(ctx)
	},
	"permit": func(ctx context.Context, c *holdfast.Client) (held, error) {
		return c.Semaphore("kept", 2).Acquire(ctx, 1)
	},
	"reader": func(ctx context.Context, c *holdfast.Client) (held, error) { return c.RWMutex("kept").RLock(ctx) },
	"writer": func(ctx context.Context, c *holdfast.Client) (held, error) { return c.RWMutex("kept").Lock(ctx) },
	"election": func(ctx context.Context, c *holdfast.Client) (held, error) {
		return c.Election("kept").Campaign(ctx, "me")
	},
	"multi": func(ctx context.Context, c *holdfast.Client) (held, error) {
		return c.Multi("kept", "kept too").Lock(ctx)
	},
	"multi of two scripts": func(ctx context.Context, c *holdfast.Client) (held, error) {
		names := []string{"kept"}
		for i := range 100 {
			names = append(names, fmt.Sprint("kept ", i))
		}
		return c.Multi(names...).Lock(ctx)
	},
}

// alive is a Client of which the test keeps nothing, and what it has told.
type alive struct {
	client weak.Pointer[holdfast.Client]
	book   *clienttest.Logbook
}

func (a *alive) open(store driver.Store) *holdfast.Client {
	a.book = &clienttest.Logbook{}
	client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: clienttest.Long, Logger: a.book.Logger()})
	a.client = weak.Make(client)
	return client
}

// stays collects garbage, and the Client must not be a part of it.
func (a *alive) stays(t *testing.T, over func() bool) {
	t.Helper()
	for range 20 {
		runtime.GC()
		if a.client.Value() == nil || over() {
			t.Fatalf("the client was collected while it was in use; log: %q", a.book.String())
		}
	}
}

// goes waits until the Client was collected, and is closed then.
func (a *alive) goes(t *testing.T, over func() bool) {
	t.Helper()
	collected(t, "the client is collected", func() bool { return a.client.Value() == nil })
	collected(t, "what it held is over", over)
	if got := a.book.String(); got == "" {
		t.Error("log: got nothing, want a warning that it was dropped without Close")
	}
}

func eachHolding(t *testing.T, f func(t *testing.T, a *alive, hold func() held)) {
	t.Parallel()
	for name, with := range holdings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &alive{}
			f(t, a, func() held {
				lease, err := with(t.Context(), a.open(openEmbedded(t)))
				if err != nil {
					t.Fatal(err)
				}
				return lease
			})
		})
	}
}

// A context of a lease keeps the Client, and so does one that is derived from it.
func TestContextKeepsItsClient(t *testing.T) {
	type key struct{}
	for name, derive := range map[string]func(context.Context) context.Context{
		"itself":         func(ctx context.Context) context.Context { return ctx },
		"with value":     func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) },
		"without cancel": context.WithoutCancel,
	} {
		t.Run(name, func(t *testing.T) {
			eachHolding(t, func(t *testing.T, a *alive, hold func() held) {
				ctx := derive(hold().Context(t.Context()))
				a.stays(t, func() bool { return ctx.Err() != nil })
				runtime.KeepAlive(ctx)
				ctx = nil
				a.goes(t, func() bool { return true })
			})
		})
	}
}

// A context that can be cancelled keeps it until then, whatever became of the context.
func TestContextDerivedKeepsItsClient(t *testing.T) {
	eachHolding(t, func(t *testing.T, a *alive, hold func() held) {
		cancel, done := func() (context.CancelFunc, <-chan struct{}) {
			ctx, cancel := context.WithCancel(hold().Context(t.Context()))
			return cancel, ctx.Done()
		}()
		a.stays(t, func() bool { return isClosed(done) })
		cancel()
	})
}

// So does the channel alone of a context, until the context ends.
func TestContextDoneKeepsItsClient(t *testing.T) {
	eachHolding(t, func(t *testing.T, a *alive, hold func() held) {
		parent, cancel := context.WithCancel(t.Context())
		done := hold().Context(parent).Done()
		a.stays(t, func() bool { return isClosed(done) })
		cancel()
		a.goes(t, func() bool { return isClosed(done) })
	})
}

// So does Done, as long as the lease lives.
func TestDoneKeepsItsClient(t *testing.T) {
	eachHolding(t, func(t *testing.T, a *alive, hold func() held) {
		done := hold().Done()
		a.stays(t, func() bool { return isClosed(done) })
		if err := a.client.Value().Close(); err != nil {
			t.Fatal(err)
		}
		<-done
		collected(t, "the client is collected", func() bool { return a.client.Value() == nil })
	})
}

// The contexts of two leases, one derived from the other, keep both Clients. That the
// leases are not over keeps neither.
func TestContextsOfTwoLeases(t *testing.T) {
	t.Parallel()
	for name, deep := range map[string]bool{"context": false, "its channel": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, outer, inner := openEmbedded(t), &alive{}, &alive{}
			one := func(a *alive, name string) held {
				lease, err := a.open(store).Mutex(name).Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return lease
			}
			parent, cancel := context.WithCancel(t.Context())
			ctx := one(inner, "inner").Context(one(outer, "outer").Context(parent))
			var done <-chan struct{}
			if deep {
				done, ctx = ctx.Done(), nil
			}
			over := func() bool { return isClosed(done) || ctx != nil && ctx.Err() != nil }
			outer.stays(t, over)
			inner.stays(t, over)
			if deep {
				cancel()
			}
			ctx = nil
			outer.goes(t, func() bool { return true })
			inner.goes(t, func() bool { return true })
			cancel()
		})
	}
}

// A lease that is dropped with its Client is noticed, though contexts were derived from it.
func TestLeaseDroppedWithItsClient(t *testing.T) {
	eachHolding(t, func(t *testing.T, a *alive, hold func() held) {
		func() {
			ctx := hold().Context(t.Context())
			if err := ctx.Err(); err != nil {
				t.Fatal(err)
			}
		}()
		a.goes(t, func() bool { return true })
	})
}

func openEmbedded(t *testing.T) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// A call that asks Redis keeps the Client, though the program uses it for nothing else any more.
func TestCallKeepsItsClient(t *testing.T) {
	t.Parallel()
	lock := func(t *testing.T, c *holdfast.Client, noRenew bool) *holdfast.Lease {
		m := c.Mutex("kept")
		m.NoRenew = noRenew
		lease, err := m.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	export := func(t *testing.T, c *holdfast.Client) string {
		text, err := lock(t, c, false).Export()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	// prepare returns a call that is the last use of the Client.
	for name, prepare := range map[string]func(t *testing.T, c *holdfast.Client) func(ctx context.Context) error{
		"EnsureHeld": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			return lock(t, c, false).EnsureHeld
		},
		"CheckHeld": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			lease := lock(t, c, false)
			return func(ctx context.Context) error { _, err := lease.CheckHeld(ctx); return err }
		},
		"Extend": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			lease := lock(t, c, true)
			return func(ctx context.Context) error { return lease.Extend(ctx, clienttest.Long) }
		},
		"Proclaim": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			lease, err := c.Election("kept").Campaign(t.Context(), "me")
			if err != nil {
				t.Fatal(err)
			}
			return func(ctx context.Context) error { return lease.Proclaim(ctx, "you") }
		},
		"Leader": func(_ *testing.T, c *holdfast.Client) func(context.Context) error {
			return func(ctx context.Context) error { _, err := c.Election("kept").Leader(ctx); return err }
		},
		"RenewExported": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			text := export(t, c)
			return func(ctx context.Context) error { _, err := c.RenewExported(ctx, text); return err }
		},
		"CheckExported": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			text := export(t, c)
			return func(ctx context.Context) error { _, err := c.CheckExported(ctx, text); return err }
		},
		"ReleaseExported": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			text := export(t, c)
			return func(ctx context.Context) error { return c.ReleaseExported(ctx, text) }
		},
		"Confirm": func(t *testing.T, c *holdfast.Client) func(context.Context) error {
			lock(t, c, false)
			return func(ctx context.Context) error { return c.Confirm(ctx, "kept") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Time stands still in the bubble while garbage is collected: the call is not given up.
			synctest.Test(t, func(t *testing.T) {
				store := &silentStore{Store: openEmbedded(t)}
				a, came := &alive{}, make(chan error, 1)
				call := prepare(t, a.open(store))
				hold := make(chan struct{})
				store.hold.Store(&hold)
				go func(call func(context.Context) error) { came <- call(context.WithoutCancel(t.Context())) }(call)
				synctest.Wait()
				if store.waiting.Load() == 0 {
					t.Fatal("the call does not ask Redis")
				}
				a.stays(t, func() bool { return len(came) > 0 })
				client := a.client.Value() // its end belongs into the bubble
				store.hold.Store(nil)
				close(hold)
				if err := <-came; err != nil {
					t.Errorf("got %v, want nil", err)
				}
				if err := client.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// silentStore is a store that does not answer while it is held.
type silentStore struct {
	driver.Store
	hold    atomic.Pointer[chan struct{}]
	waiting atomic.Int64
}

func (s *silentStore) wait() {
	if hold := s.hold.Load(); hold != nil {
		s.waiting.Add(1)
		<-*hold
	}
}

func (s *silentStore) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.wait()
	return s.Store.Eval(ctx, call)
}

func (s *silentStore) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	s.wait()
	return s.Store.EvalAll(ctx, calls)
}
