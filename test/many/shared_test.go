//go:build unix

package many_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A thousand readers of one name in one process work at once, each with its own
// lease, which are renewed in pipelines: what that costs is counted.
func TestThousandReaders(t *testing.T) {
	const readers, ttl = 1000, 6 * time.Second
	server := redistest.Start(t, redistest.Options{})
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		store := &pipelines{Store: d.Open(t, server.URL(), clienttest.Way{})}
		c := holdfast.New(store, &holdfast.Options{TTL: ttl})
		t.Cleanup(func() { _ = c.Close() })
		rw := c.RWMutex("thousand-" + d.Name)
		began := time.Now()
		leases := make([]*holdfast.Lease, readers)
		var all sync.WaitGroup
		for i := range leases {
			all.Go(func() {
				lease, err := rw.RLock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				leases[i] = lease
			})
		}
		all.Wait()
		if t.Failed() {
			t.FailNow()
		}
		t.Logf("%d readers in %v", readers, time.Since(began))
		tokens := map[int64]bool{}
		for _, lease := range leases {
			tokens[lease.Token()] = true
		}
		if len(tokens) != readers {
			t.Errorf("%d tokens, want %d", len(tokens), readers)
		}
		before, usec := renewals(t, server)
		time.Sleep(2 * ttl) // all were renewed meanwhile, or their leases are over
		after, usecAfter := renewals(t, server)
		for i, lease := range leases {
			if err := lease.Err(); err != nil {
				t.Fatalf("reader %d: %v", i, err)
			}
		}
		store.mu.Lock()
		calls, most, alone := store.calls, store.most, store.alone
		store.mu.Unlock()
		t.Logf("%d commands in %v for renewals, of %d µs each, in %d pipelines, %d alone", after-before, 2*ttl, (usecAfter-usec)/max(1, after-before), calls, alone)
		if per := float64(calls+alone) / float64(after-before) * 100; per > 20 || most < 50 {
			t.Errorf("%.0f requests for 100 renewals, the largest of %d: want them batched", per, most)
		}
		got := make(chan error, 1)
		go func() {
			lease, err := rw.Lock(t.Context())
			if err == nil {
				err = lease.Release()
			}
			got <- err
		}()
		for _, lease := range leases {
			all.Go(func() {
				if err := lease.Release(); err != nil {
					t.Errorf("Release: %v", err)
				}
			})
		}
		all.Wait()
		select {
		case err := <-got:
			if err != nil {
				t.Errorf("the writer: %v", err)
			}
		case <-time.After(clienttest.Patience):
			t.Error("the writer gets nothing")
		}
	})
}

// renewals are how many EVALSHA ran, and what they took.
func renewals(t *testing.T, server *redistest.Server) (calls, usec int) {
	t.Helper()
	found := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`).FindStringSubmatch(server.MustDo(t, "INFO", "commandstats"))
	if found == nil {
		t.Fatal("the server counts no EVALSHA")
	}
	calls, _ = strconv.Atoi(found[1])
	usec, _ = strconv.Atoi(found[2])
	return calls, usec
}

// pipelines notes how renewals travel.
type pipelines struct {
	driver.Store
	mu    sync.Mutex
	calls int // pipelines of them
	most  int // in one
	alone int
}

func (p *pipelines) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name == "shared_renew" {
		p.mu.Lock()
		p.alone++
		p.mu.Unlock()
	}
	return p.Store.Eval(ctx, call)
}

func (p *pipelines) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	if calls[0].Script.Name == "shared_renew" {
		p.mu.Lock()
		p.calls++
		p.most = max(p.most, len(calls))
		p.mu.Unlock()
	}
	return p.Store.EvalAll(ctx, calls)
}

// Full memory refuses new names and nothing else: what is held is renewed and
// given back, and a waiter gets it.
func TestSharedFullMemory(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	d := clienttest.Drivers[0]
	client := func() *holdfast.Client {
		c := holdfast.New(d.Open(t, server.URL(), clienttest.Way{}), &holdfast.Options{TTL: 3 * time.Second})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	a, b := client(), client()
	held, err := a.Semaphore("full", 3).Acquire(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan *holdfast.Lease, 1)
	wait := func() {
		lease, err := b.Semaphore("full", 3).Acquire(t.Context(), 2)
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		next <- lease
	}
	server.MustDo(t, "CONFIG", "SET", "maxmemory", 1)
	go wait()
	clienttest.InQueue(t, server, "full", b.Owner())
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := a.RWMutex("other").RLock(ctx); err == nil {
		t.Error("a new name is locked with full memory")
	}
	before := held.Deadline()
	clienttest.Eventually(t, "the holder renews", func() bool { return held.Deadline().After(before.Add(500 * time.Millisecond)) })
	if err := held.Release(); err != nil {
		t.Errorf("Release: %v", err)
	}
	select {
	case lease := <-next:
		if lease != nil {
			if err := lease.Release(); err != nil {
				t.Errorf("Release of the next: %v", err)
			}
		}
	case <-time.After(clienttest.Patience):
		t.Error("the waiter gets nothing")
	}
	server.MustDo(t, "CONFIG", "SET", "maxmemory", 0)
	clienttest.Eventually(t, "nothing is left", func() bool {
		return server.MustDo(t, "EXISTS", clienttest.LockKey("full"), clienttest.QueueKey("full"), "holdfast/holders:{"+clienttest.LockKey("full")+"}") == "0"
	})
}

// Do runs under an RWMutex and its RLocker.
func TestDoShared(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	c := holdfast.New(clienttest.Drivers[0].Open(t, server.URL(), clienttest.Way{}), nil)
	t.Cleanup(func() { _ = c.Close() })
	rw := c.RWMutex("do")
	err := holdfast.Do(t.Context(), rw.RLocker(), func(ctx context.Context, _ *holdfast.Lease) error {
		if _, err := rw.Lock(ctx); !errors.Is(err, holdfast.ErrDeadlock) {
			t.Errorf("Lock of a reader: got %v, want ErrDeadlock", err)
		}
		_, err := rw.TryRLock(t.Context())
		return err
	})
	if err != nil {
		t.Errorf("Do with RLocker: %v", err)
	}
	other := c.RWMutex("do2")
	if err := holdfast.Do(t.Context(), other, func(context.Context, *holdfast.Lease) error { return nil }); err != nil {
		t.Errorf("Do: %v", err)
	}
}
