package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

// suite is what the checks share: how to open a Store, and a prefix that no other run has.
type suite struct {
	open   func(t *testing.T) driver.Store
	prefix string
}

// check is a subtest.
type check struct {
	name string
	test func(*testing.T, suite)
}

func (c check) run(t *testing.T, s suite) (ok bool) {
	return t.Run(c.name, func(t *testing.T) { c.test(t, s) })
}

// patience bounds what must happen soon; nothing is asserted about how soon.
const patience = 20 * time.Second

func (s suite) client(t *testing.T, ttl time.Duration) *holdfast.Client {
	t.Helper()
	c := holdfast.New(s.open(t), &holdfast.Options{Prefix: s.prefix, TTL: ttl, Owner: fmt.Sprintf("client %x", rand.Uint32())})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func lock(t *testing.T, m *holdfast.Mutex) *holdfast.Lease {
	t.Helper()
	lease, err := m.Lock(bounded(t))
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return lease
}

func release(t *testing.T, lease *holdfast.Lease) {
	t.Helper()
	if err := lease.Release(); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// waiting waits until n processes are in the queue.
func waiting(t *testing.T, c *holdfast.Client, name string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("a queue of %d", n), func() bool {
		state, err := admin.Of(c).Inspect(bounded(t), name)
		if err != nil {
			t.Fatal(err)
		}
		return state.Waiting == n
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// tenure returns the hash of the holder of a name.
func tenure(t *testing.T, c *holdfast.Client, name string) string {
	t.Helper()
	state, err := admin.Of(c).Inspect(bounded(t), name)
	if err != nil || state.Holder == nil {
		t.Fatalf("Inspect: got %+v, %v, want a holder", state, err)
	}
	return state.Holder.Hash
}

// ended waits for the end of a lease and wants that cause and reason.
func ended(t *testing.T, lease *holdfast.Lease, cause holdfast.Cause, reason string) {
	t.Helper()
	select {
	case <-lease.Done():
	case <-time.After(patience):
		t.Fatalf("not within %v: the lease ends", patience)
	}
	var lost *holdfast.LostError
	if err := lease.Err(); !errors.As(err, &lost) || lost.Cause != cause || lost.Reason != reason {
		t.Fatalf("Err: got %v, want lost: %s: %s", err, cause, reason)
	}
}

// visits checks that callers of one name are never inside together, and that tokens rise.
type visits struct {
	inside, last atomic.Int64
	all          sync.WaitGroup
}

// begin lets one caller lock and release n times.
func (v *visits) begin(t *testing.T, n int, lock func() (*holdfast.Lease, error)) {
	v.all.Go(func() {
		for range n {
			lease, err := lock()
			if err != nil {
				t.Error(err)
				return
			}
			if v.inside.Add(1) != 1 || v.last.Swap(lease.Token()) >= lease.Token() {
				t.Error("two inside, or a token that did not rise")
			}
			v.inside.Add(-1)
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
	})
}

// lockFunc locks a name of a Client alone.
type lockFunc func(ctx context.Context, c *holdfast.Client, name string, try bool) (*holdfast.Lease, error)

// outlives returns a lease that was renewed for longer than its TTL while others get ErrHeld.
// A machine that stands still for a TTL loses the lease, so it tries longer ones then.
func (s suite) outlives(t *testing.T, name string, lock lockFunc) *holdfast.Lease {
	t.Helper()
	for ttl := 500 * time.Millisecond; ttl < 5*time.Second; ttl *= 2 {
		a, b := s.client(t, ttl), s.client(t, ttl)
		lease, err := lock(bounded(t), a, name, false)
		if err != nil {
			t.Fatal(err)
		}
		first := lease.Deadline()
		eventually(t, "renewals move the deadline", func() bool {
			return lease.Err() != nil || lease.Deadline().After(first.Add(2*ttl))
		})
		next, err := lock(bounded(t), b, name, true)
		switch {
		case lease.Err() == nil && errors.Is(err, holdfast.ErrHeld):
			return lease
		case lease.Err() == nil:
			t.Fatalf("a try of a renewed name: got %v, want ErrHeld", err)
		case err == nil:
			_ = next.Release()
		}
		t.Logf("the lease with a TTL of %v: %v", ttl, lease.Err())
	}
	t.Fatal("no lease was kept for longer than its TTL")
	return nil
}

// excludes wants that callers of n Clients, n of each, are never inside together, and that
// tokens rise. Each locks and releases the name the given number of times.
func (s suite) excludes(t *testing.T, name string, n, times int, lock lockFunc) {
	t.Helper()
	var v visits
	for range n {
		c := s.client(t, 0)
		for range n {
			v.begin(t, times, func() (*holdfast.Lease, error) { return lock(bounded(t), c, name, false) })
		}
	}
	v.all.Wait()
}

// inOrder wants that n waiters, each of its own Client, are served first come, first served.
func (s suite) inOrder(t *testing.T, name string, n int, lock lockFunc) {
	t.Helper()
	holder := s.client(t, 0)
	lease, err := lock(bounded(t), holder, name, false)
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan int, n)
	for i := range n {
		c := s.client(t, 0)
		go func() {
			lease, err := lock(bounded(t), c, name, false)
			if err != nil {
				t.Error(err)
			} else {
				order <- i
				_ = lease.Release()
			}
		}()
		waiting(t, holder, name, i+1)
	}
	release(t, lease)
	for want := range n {
		select {
		case got := <-order:
			if got != want {
				t.Fatalf("served %d, want %d: first come, first served", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("caller %d was never served", want)
		}
	}
}

// givenUp wants that a waiter that gives up leaves the queue.
func (s suite) givenUp(t *testing.T, name string, lock lockFunc) {
	t.Helper()
	a, b := s.client(t, 0), s.client(t, 0)
	lease, err := lock(bounded(t), a, name, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := lock(ctx, b, name, false)
		gone <- err
	}()
	waiting(t, a, name, 1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	waiting(t, a, name, 0)
	release(t, lease)
}
