//go:build unix

package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// On a real server a writer becomes a reader, and permits are given back, at once; also
// where the lock key alone was deleted. Nobody gets more than there is.
func TestSharedSmaller(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		open := func() *holdfast.Client {
			c := holdfast.New(d.Open(t, server.URL(), clienttest.Way{}), nil)
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		mine, other := open(), open()
		waits := func(lock func(context.Context) (*holdfast.Lease, error)) <-chan *holdfast.Lease {
			got := make(chan *holdfast.Lease, 1)
			go func() {
				defer close(got)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a third of the ttl
				defer cancel()
				lease, err := lock(ctx)
				if err != nil {
					t.Errorf("who waits: %v", err)
					return
				}
				got <- lease
			}()
			return got
		}
		queued := func(name string, n string) {
			t.Helper()
			deadline := time.Now().Add(10 * time.Second)
			for server.MustDo(t, "ZCARD", "holdfast/queue:{holdfast:"+name+"}") != n {
				if time.Now().After(deadline) {
					t.Fatalf("not %s wait for %s", n, name)
				}
				time.Sleep(time.Millisecond)
			}
		}
		release := func(leases ...*holdfast.Lease) {
			t.Helper()
			for _, l := range leases {
				if err := l.Release(); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		}

		rw, sem := "rw-"+d.Name, "sem-"+d.Name
		w, err := mine.RWMutex(rw).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reader := waits(other.RWMutex(rw).RLock)
		queued(rw, "1")
		if err := w.Downgrade(); err != nil {
			t.Errorf("Downgrade: %v", err)
		}
		r := <-reader
		if err := w.EnsureHeld(t.Context()); err != nil || r == nil || r.Token() <= w.Token() {
			t.Errorf("the lease: %v; the reader: %+v", err, r)
		}
		release(w, r)

		five, err := mine.Semaphore(sem, 5).Acquire(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		two := waits(func(ctx context.Context) (*holdfast.Lease, error) { return other.Semaphore(sem, 5).Acquire(ctx, 2) })
		queued(sem, "1")
		if err := five.Keep(3); err != nil {
			t.Errorf("Keep(3): %v", err)
		}
		b := <-two
		server.MustDo(t, "DEL", "holdfast:"+sem)
		if err := five.Keep(1); err != nil {
			t.Errorf("Keep(1) without the lock key: %v", err)
		}
		if _, err := other.Semaphore(sem, 5).TryAcquire(t.Context(), 3); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("six of five: %v", err)
		}
		last, err := other.Semaphore(sem, 5).TryAcquire(t.Context(), 2)
		if err != nil {
			t.Fatalf("five of five: %v", err)
		}
		release(five, b, last)
		if n := server.MustDo(t, "EXISTS", "holdfast:"+rw, "holdfast:"+sem, "holdfast/holders:{holdfast:"+rw+"}", "holdfast/holders:{holdfast:"+sem+"}"); n != "0" {
			t.Errorf("%s keys are left", n)
		}
	})
}
