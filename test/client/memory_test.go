package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"

	"github.com/holdfast-go/holdfast"
)

// Full memory keeps nobody from releasing, from handing over, from renewing or
// from giving up: each of these scripts begins with a write that is never
// refused, and what follows it isn't either.
func TestFullMemoryHandsOver(t *testing.T) {
	server, client := fullServer(t)
	recalled := make(chan struct{}, 1)
	first := client(holdfast.Options{OnEvent: func(e holdfast.Event) {
		if _, ok := e.(holdfast.Recalled); ok {
			recalled <- struct{}{}
		}
	}})
	second, third := client(holdfast.Options{}), client(holdfast.Options{})
	lease, err := first.Mutex("n").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *holdfast.Lease, 3)
	waits := func(c *holdfast.Client) {
		next, err := c.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Errorf("Lock: %v", err)
		}
		got <- next
	}
	go waits(second)
	queueLength(t, server, "n", "1")
	// The first to come here is one of the waiters that the recall counts; for the
	// second one the unlock queues a fresh id.
	inLine := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			var held *holdfast.HeldError
			if _, err := first.Mutex("n").TryLock(t.Context()); errors.As(err, &held) && held.Waiters == n {
				return
			}
		}
		t.Fatalf("%d callers do not wait in the queue after 20 s", n)
	}
	go waits(first)
	inLine(1)
	select {
	case <-recalled:
	case <-time.After(20 * time.Second):
		t.Fatal("the holder is not recalled")
	}
	go waits(first)
	inLine(2)
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")

	if err := lease.Release(); err != nil {
		t.Errorf("Release with full memory: %v", err)
	}
	for range 3 {
		select {
		case next := <-got:
			if err := next.Release(); err != nil {
				t.Errorf("Release with full memory: %v", err)
			}
		case <-time.After(10 * time.Second): // a look by itself would take 15 s
			t.Fatal("a waiter gets nothing while memory is full")
		}
	}

	// A lock on a free name is refused, word for word, and leaves nothing.
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := third.Mutex("new").Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock of a free name = %v; want it tried until the context ends", err)
	}
	if keys := server.MustDo(t, "KEYS", "*new*"); strings.TrimSpace(keys) != "" {
		t.Errorf("a refused lock left %q", keys)
	}
}

// Full memory keeps nobody from waiting in the queue, from giving up, and from
// keeping what he has.
func TestFullMemoryWaitsAndRenews(t *testing.T) {
	server, client := fullServer(t)
	holder, waiter := client(holdfast.Options{TTL: 3 * time.Second}), client(holdfast.Options{})
	lease, err := holder.Mutex("n").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := waiter.Mutex("n").Lock(ctx)
		gone <- err
	}()
	queueLength(t, server, "n", "1")
	time.Sleep(7 * time.Second) // two ttls, and more
	if err := lease.Err(); err != nil {
		t.Errorf("the lease with full memory: %v", err)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("Lock = %v", err)
	}
	queueLength(t, server, "n", "0")
	if err := lease.Release(); err != nil {
		t.Errorf("Release: %v", err)
	}
}

// Many who want new names do not keep from full memory those who release theirs, though
// their requests travel together.
func TestFullMemoryBatch(t *testing.T) {
	server, client := fullServer(t)
	c := client(holdfast.Options{TTL: 10 * time.Second})
	var leases []*holdfast.Lease
	for i := range 100 {
		l, err := c.Mutex(fmt.Sprint("held", i)).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
	ctx, cancel := context.WithCancel(t.Context())
	var wanting sync.WaitGroup
	defer wanting.Wait()
	defer cancel()
	for i := range 1000 {
		wanting.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				short, end := context.WithTimeout(ctx, 50*time.Millisecond)
				if l, err := c.Mutex(fmt.Sprint("new", i, "-", k)).Lock(short); err == nil {
					_ = l.Release()
				}
				end()
			}
		})
	}
	time.Sleep(300 * time.Millisecond) // they ask again and again
	var releasing sync.WaitGroup
	for _, l := range leases {
		releasing.Go(func() {
			if err := l.Release(); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
	}
	releasing.Wait()
}

// fullServer is a server whose memory will be full, and a client maker.
func fullServer(t *testing.T) (server *redistest.Server, client func(holdfast.Options) *holdfast.Client) {
	t.Helper()
	server = redistest.Start(t, redistest.Options{})
	return server, func(options holdfast.Options) *holdfast.Client {
		store, err := rueidisstore.Open(server.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		c := holdfast.New(store, &options)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// queueLength waits until n processes wait in the queue.
func queueLength(t *testing.T, server *redistest.Server, name, n string) {
	t.Helper()
	clienttest.Eventually(t, n+" processes wait for "+name, func() bool { return server.MustDo(t, "ZCARD", clienttest.QueueKey(name)) == n })
}
