package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

// exclusive are the shared kinds used as a mutex: they keep its promises.
var exclusive = map[string]lockFunc{
	"Writer": func(ctx context.Context, c *holdfast.Client, name string, try bool) (*holdfast.Lease, error) {
		if try {
			return c.RWMutex(name).TryLock(ctx)
		}
		return c.RWMutex(name).Lock(ctx)
	},
	"SemaphoreOfOne": func(ctx context.Context, c *holdfast.Client, name string, try bool) (*holdfast.Lease, error) {
		if try {
			return c.Semaphore(name, 1).TryAcquire(ctx, 1)
		}
		return c.Semaphore(name, 1).Acquire(ctx, 1)
	},
}

func runShared(t *testing.T, s suite) {
	for kind, lock := range exclusive {
		t.Run(kind, func(t *testing.T) {
			t.Run("Exclusion", func(t *testing.T) { s.excludes(t, kind, 3, 10, lock) })
			t.Run("Order", func(t *testing.T) { s.inOrder(t, kind+"-order", 4, lock) })
			t.Run("HeldAndFreed", func(t *testing.T) { sharedHeld(t, s, kind, lock) })
			t.Run("Expiry", func(t *testing.T) { sharedExpiry(t, s, kind, lock) })
			t.Run("GivenUp", func(t *testing.T) { s.givenUp(t, kind+"-up", lock) })
			t.Run("Close", func(t *testing.T) { sharedClose(t, s, kind, lock) })
		})
	}
	for _, c := range []check{{"Semaphore", semaphore}, {"Readers", readers}, {"Kinds", kinds}, {"InspectShared", inspectShared}} {
		c.run(t, s)
	}
}

// sharedHeld: a try names the holder, and a release frees the name at once.
func sharedHeld(t *testing.T, s suite, kind string, lock lockFunc) {
	a, b := s.client(t, 0), s.client(t, 0)
	name := kind + "-held"
	lease, err := lock(bounded(t), a, name, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*holdfast.Client{a, b} {
		_, err := lock(bounded(t), c, name, true)
		var held *holdfast.HeldError
		if !errors.As(err, &held) || held.Owner != a.Owner() || held.Remaining <= 0 {
			t.Fatalf("a try: got %v, want a HeldError that names %s", err, a.Owner())
		}
	}
	if _, err := lock(lease.Context(bounded(t)), a, name, false); !errors.Is(err, holdfast.ErrDeadlock) {
		t.Fatalf("under its own lease: got %v, want ErrDeadlock", err)
	}
	release(t, lease)
	next, err := lock(bounded(t), b, name, true)
	if err != nil {
		t.Fatalf("a try of a free name: %v", err)
	}
	if next.Token() <= lease.Token() {
		t.Fatalf("token %d after %d", next.Token(), lease.Token())
	}
	release(t, next)
}

// sharedExpiry: a holder that renews keeps the name beyond its TTL. A holder whose entry is
// deleted learns of that.
func sharedExpiry(t *testing.T, s suite, kind string, lock lockFunc) {
	name := kind + "-kept"
	lease := s.outlives(t, name, lock)
	ctx := lease.Context(t.Context())
	l := s.prefix + name
	del := driver.NewScript("del", "return redis.call('DEL', KEYS[1], KEYS[2])")
	if _, err := s.open(t).Eval(bounded(t), driver.Call{Script: del, Keys: []string{l, "holdfast/holders:{" + l + "}"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Fatal("the context outlived the lock")
	}
	if err := lease.Release(); !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("Release: got %v, want ErrLost", err)
	}
}

// sharedClose: Close gives back what a Client holds, and ends its waits.
func sharedClose(t *testing.T, s suite, kind string, lock lockFunc) {
	a, b, c := s.client(t, 0), s.client(t, 0), s.client(t, 0)
	name := kind + "-close"
	lease, err := lock(bounded(t), a, name, false)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() {
		_, err := lock(bounded(t), b, name, false)
		gone <- err
	}()
	waiting(t, a, name, 1)
	if err := b.Close(); err != nil {
		t.Fatalf("Close of the waiting client: %v", err)
	}
	if err := <-gone; !errors.Is(err, holdfast.ErrClosed) {
		t.Fatalf("the waiting client: got %v, want ErrClosed", err)
	}
	if err := a.Close(); err != nil {
		t.Fatalf("Close of the holder: %v", err)
	}
	if err := lease.Err(); !errors.Is(err, holdfast.ErrClosed) || !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("Err after Close: got %v, want ErrLost and ErrClosed", err)
	}
	next, err := lock(bounded(t), c, name, true)
	if err != nil {
		t.Fatalf("a try after the holder's Close: %v", err)
	}
	release(t, next)
}

// semaphore: together never more than the size; what does not fit waits, and
// nobody overtakes it.
func semaphore(t *testing.T, s suite) {
	const size = 4
	var used, most atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		sem := s.client(t, 0).Semaphore("permits", size)
		for i := range 4 {
			wg.Go(func() {
				for range 8 {
					n := 1 + i%3
					lease, err := sem.Acquire(bounded(t), n)
					if err != nil {
						t.Error(err)
						return
					}
					now := used.Add(int64(n))
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					time.Sleep(time.Millisecond)
					used.Add(-int64(n))
					if err := lease.Release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if got := most.Load(); got > size || got < 2 {
		t.Errorf("held at once: got %d, want 2 to %d", got, size)
	}
}

// readers: together, but not with a writer, and behind one that waits.
func readers(t *testing.T, s suite) {
	a, b := s.client(t, 0), s.client(t, 0)
	first, err := a.RWMutex("read").RLock(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.RWMutex("read").TryRLock(bounded(t))
	if err != nil {
		t.Fatalf("a second reader: %v", err)
	}
	if _, err := b.RWMutex("read").TryLock(bounded(t)); !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("a writer among readers: got %v, want ErrHeld", err)
	}
	order := make(chan string, 2)
	var entered sync.WaitGroup
	entered.Go(func() { enter(t, s, order, "writer", b.RWMutex("read").Lock) })
	waiting(t, a, "read", 1)
	if _, err := a.RWMutex("read").TryRLock(bounded(t)); !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("a reader behind a writer: got %v, want ErrHeld", err)
	}
	entered.Go(func() { enter(t, s, order, "reader", a.RWMutex("read").RLock) })
	waiting(t, a, "read", 2)
	release(t, first)
	release(t, second)
	for _, want := range []string{"writer", "reader"} {
		select {
		case got := <-order:
			if got != want {
				t.Fatalf("got the %s, want the %s", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("the %s got nothing", want)
		}
	}
	entered.Wait()
}

func enter(t *testing.T, s suite, order chan<- string, who string, lock func(context.Context) (*holdfast.Lease, error)) {
	lease, err := lock(bounded(t))
	if err != nil {
		t.Errorf("%s: %v", who, err)
		return
	}
	order <- who
	if err := lease.Release(); err != nil {
		t.Errorf("%s: %v", who, err)
	}
}

// kinds: to lock a name that has another kind is an error that names both kinds.
func kinds(t *testing.T, s suite) {
	a, b := s.client(t, 0), s.client(t, 0)
	locks := map[string]func(c *holdfast.Client) (*holdfast.Lease, error){
		"a mutex":    func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("kind").Lock(bounded(t)) },
		"an RWMutex": func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("kind").RLock(bounded(t)) },
		"a semaphore of 2": func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("kind", 2).Acquire(bounded(t), 1)
		},
	}
	for is, hold := range locks {
		lease, err := hold(a)
		if err != nil {
			t.Fatalf("%s: %v", is, err)
		}
		for asked, lock := range locks {
			if asked == is {
				continue
			}
			_, err := lock(b)
			if want := fmt.Sprintf("holdfast: kind is %s, not %s", is, asked); !errors.Is(err, holdfast.ErrKind) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		release(t, lease)
	}
}

// inspectShared: Inspect shows the holders and their parts.
func inspectShared(t *testing.T, s suite) {
	c := s.client(t, 0)
	sem := c.Semaphore("seen-permits", 5)
	var leases []*holdfast.Lease
	for _, n := range []int{1, 3} {
		lease, err := sem.Acquire(bounded(t), n)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	state, err := admin.Of(c).Inspect(bounded(t), "seen-permits")
	if err != nil {
		t.Fatal(err)
	}
	if state.Kind != holdfast.KindSemaphore || state.Size != 5 || state.Used != 4 || state.Holding != 2 || len(state.Holders) != 2 ||
		state.Holder == nil || state.Holders[0].Part.Permits != 1 || state.Holders[1].Part.Permits != 3 {
		t.Fatalf("Inspect: got %+v", state)
	}
	for i, h := range state.Holders {
		if !h.Own || h.Foreign || h.Owner != c.Owner() || h.TTL != holdfast.DefaultTTL || h.Remaining <= 0 || h.Remaining > h.TTL {
			t.Errorf("holder %d: got %+v", i, h)
		}
	}
	for _, lease := range leases {
		release(t, lease)
	}
	if state, err = admin.Of(c).Inspect(bounded(t), "seen-permits"); err != nil || state.Holder != nil || state.Holding != 0 {
		t.Errorf("Inspect of a free name: got %+v, %v", state, err)
	}
}
