// Package drivertest tests a driver. It first calls the methods of the
// [driver.Store] one by one. Then it uses locks through the public API, as a
// program does.
//
//	func TestStore(t *testing.T) {
//		address := startServer(t) // once: all stores must reach the same server
//		drivertest.Run(t, func(t *testing.T) driver.Store {
//			store := mystore.New(address)
//			t.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// It needs a server that holdfast supports, without replicas. A limited user
// needs the rights of docs/guide/08-operating.md, also those for Semaphore and
// WaitReplicas, with the key pattern ~storetest-* in place of ~holdfast:*. If the
// driver supports Cluster, run it a second time against a Cluster.
//
// Its keys begin with "storetest-" or "holdfast/", so it can run on a server with
// other data. It leaves about 150 small keys, which expire after at most 30
// days. It takes about 11 s.
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

// Run runs the suite as subtests of t. It calls open for each process that a
// test simulates. All stores must reach the same server; open may return the
// same Store each time. If the subtests Replies, Scan or Subscribe fail, Run
// stops, because most other subtests would fail for the same reason.
//
// Run does not test:
//
//   - that a call returns by the deadline of its ctx
//   - that EvalAll and EvalWait use one pipeline
//   - that EvalWait counts the replicas: it uses none
//   - that Done is closed, and Ping fails, when the connection breaks
//   - that no call runs twice after a broken connection, if SendsOnce returns true
//   - redirects of a Cluster (MOVED, ASK), failovers and leaks
//
// Use the race detector to test concurrent use.
func Run(t *testing.T, open func(t *testing.T) driver.Store) {
	s := suite{open: open, prefix: fmt.Sprintf("storetest-%x:", rand.Uint64())}
	s.reach(t)
	if !t.Run("Replies", s.replies) || !t.Run("Scan", s.scan) || !t.Run("Subscribe", s.subscribe) {
		t.Fatal("the Store does not do what the comments of driver.Store say: the other tests did not run")
	}
	t.Run("LockAndRelease", s.lockAndRelease)
	t.Run("TryLockHeld", s.tryLockHeld)
	t.Run("HandOver", s.handOver)
	t.Run("FirstComeFirstServed", s.firstCome)
	t.Run("Turns", s.turns)
	t.Run("ManyCallers", s.manyCallers)
	t.Run("GivenUp", s.givenUp)
	t.Run("Expiry", s.expiry)
	t.Run("Lost", s.lost)
	t.Run("Close", s.close)
	t.Run("Exclusion", s.exclusion)
	t.Run("InspectAndNames", s.inspect)
	t.Run("Deadlock", s.deadlock)
	t.Run("Revoke", s.revoke)
	t.Run("Steal", s.steal)
	t.Run("ExportAndAdopt", s.adopt)
	t.Run("Exported", s.exported)
	t.Run("Apart", s.apart)
	t.Run("EvalWait", s.evalWait)
	t.Run("Eval", s.eval)
	t.Run("WaitReplicas", s.waitReplicas)
	t.Run("Election", s.election)
	t.Run("Observe", s.observe)
	t.Run("Multi", s.multi)
	t.Run("Survey", s.survey)
	t.Run("SendsOnce", s.unrepeated)
	s.runShared(t)
}

type suite struct {
	open   func(t *testing.T) driver.Store
	prefix string
}

// patience bounds what must happen soon; nothing is asserted about how soon.
const patience = 20 * time.Second

func (s suite) client(t *testing.T, ttl time.Duration) *holdfast.Client {
	t.Helper()
	c := holdfast.New(s.open(t), &holdfast.Options{Prefix: s.prefix, TTL: ttl, Owner: fmt.Sprintf("client %x", rand.Uint32())})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func lock(t *testing.T, m *holdfast.Mutex) *holdfast.Lease {
	t.Helper()
	lease, err := m.Lock(within(t))
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

// waiting waits until n processes stand in line.
func waiting(t *testing.T, c *holdfast.Client, name string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("a queue of %d", n), func() bool {
		state, err := admin.Of(c).Inspect(within(t), name)
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

func (s suite) lockAndRelease(t *testing.T) {
	m := s.client(t, 0).Mutex("lock")
	var last int64
	for range 20 {
		lease := lock(t, m)
		if got := lease.Token(); got <= last {
			t.Fatalf("token %d after %d: tokens must rise", got, last)
		}
		last = lease.Token()
		if err := lease.Err(); err != nil {
			t.Fatalf("Err of a held lease: %v", err)
		}
		release(t, lease)
		if got := lease.Err(); !errors.Is(got, holdfast.ErrReleased) {
			t.Fatalf("Err after Release: got %v, want ErrReleased", got)
		}
	}
}

func (s suite) tryLockHeld(t *testing.T) {
	a, b := s.client(t, 0), s.client(t, 0)
	lease := lock(t, a.Mutex("try"))
	for _, c := range []*holdfast.Client{a, b} {
		_, err := c.Mutex("try").TryLock(within(t))
		var held *holdfast.HeldError
		if !errors.As(err, &held) || held.Owner != a.Owner() {
			t.Fatalf("TryLock: got %v, want a HeldError that names %s", err, a.Owner())
		}
	}
	release(t, lease)
	lease, err := b.Mutex("try").TryLock(within(t))
	if err != nil {
		t.Fatalf("TryLock of a free name: %v", err)
	}
	release(t, lease)
}

func (s suite) handOver(t *testing.T) {
	a, b := s.client(t, 0), s.client(t, 0)
	first := lock(t, a.Mutex("over"))
	got := make(chan *holdfast.Lease)
	go func() {
		lease, err := b.Mutex("over").Lock(within(t))
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	waiting(t, a, "over", 1)
	release(t, first)
	second := <-got
	if second == nil {
		t.FailNow()
	}
	if second.Token() <= first.Token() {
		t.Fatalf("token %d after %d", second.Token(), first.Token())
	}
	release(t, second)
}

func (s suite) firstCome(t *testing.T) {
	holder := s.client(t, 0)
	lease := lock(t, holder.Mutex("line"))
	const n = 5
	order := make(chan int, n)
	for i := range n {
		c := s.client(t, 0)
		go func() {
			lease, err := c.Mutex("line").Lock(within(t))
			if err != nil {
				t.Error(err)
			} else {
				order <- i
				_ = lease.Release()
			}
		}()
		waiting(t, holder, "line", i+1)
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

func (s suite) turns(t *testing.T) {
	m := s.client(t, 0).Mutex("turns")
	var v visits
	for range 8 {
		v.begin(t, 50, func() (*holdfast.Lease, error) { return m.Lock(within(t)) })
	}
	v.all.Wait()
}

func (s suite) givenUp(t *testing.T) {
	a, b := s.client(t, 0), s.client(t, 0)
	lease := lock(t, a.Mutex("up"))
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := b.Mutex("up").Lock(ctx)
		gone <- err
	}()
	waiting(t, a, "up", 1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("Lock: got %v, want context.Canceled", err)
	}
	waiting(t, a, "up", 0)
	release(t, lease)
}

func (s suite) expiry(t *testing.T) {
	release(t, s.outlives(t, "kept", func(ctx context.Context, c *holdfast.Client, name string, try bool) (*holdfast.Lease, error) {
		if try {
			return c.Mutex(name).TryLock(ctx)
		}
		return c.Mutex(name).Lock(ctx)
	}))
}

// outlives returns a lease that was renewed for longer than its TTL while others get ErrHeld.
// A machine that stands still for a TTL loses the lease, so it tries longer ones then.
func (s suite) outlives(t *testing.T, name string, lock lockFunc) *holdfast.Lease {
	t.Helper()
	for ttl := 500 * time.Millisecond; ttl < 5*time.Second; ttl *= 2 {
		a, b := s.client(t, ttl), s.client(t, ttl)
		lease, err := lock(within(t), a, name, false)
		if err != nil {
			t.Fatal(err)
		}
		first := lease.Deadline()
		eventually(t, "renewals move the deadline", func() bool {
			return lease.Err() != nil || lease.Deadline().After(first.Add(2*ttl))
		})
		next, err := lock(within(t), b, name, true)
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

func (s suite) lost(t *testing.T) {
	store := s.open(t)
	c := holdfast.New(store, &holdfast.Options{Prefix: s.prefix, TTL: 300 * time.Millisecond})
	defer c.Close()
	lease := lock(t, c.Mutex("lost"))
	ctx := lease.Context(t.Context())
	del := driver.NewScript("del", "return redis.call('DEL', KEYS[1])")
	if _, err := store.Eval(within(t), driver.Call{Script: del, Keys: []string{s.prefix + "lost"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Fatal("the context outlived the lock")
	}
	var lost *holdfast.LostError
	if err := context.Cause(ctx); !errors.As(err, &lost) || lost.Cause != holdfast.Gone {
		t.Fatalf("cause: got %v, want lost: gone", err)
	}
	if err := lease.Release(); !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("Release: got %v, want ErrLost", err)
	}
}

func (s suite) close(t *testing.T) {
	a, b := s.client(t, 0), s.client(t, 0)
	lease := lock(t, a.Mutex("close"))
	if err := a.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := lease.Err(); !errors.Is(err, holdfast.ErrClosed) || !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("Err after Close: got %v, want ErrLost and ErrClosed", err)
	}
	if _, err := a.Mutex("close").Lock(within(t)); !errors.Is(err, holdfast.ErrClosed) {
		t.Fatalf("Lock after Close: got %v, want ErrClosed", err)
	}
	next, err := b.Mutex("close").TryLock(within(t))
	if err != nil {
		t.Fatalf("TryLock after the holder's Close: %v", err)
	}
	release(t, next)
}

// section is where only one may be at a time, with a higher token than all before.
type section struct{ inside, last atomic.Int64 }

// enter locks, looks and releases, the given number of times.
func (s *section) enter(t *testing.T, m *holdfast.Mutex, times int) {
	for range times {
		lease, err := m.Lock(within(t))
		if err != nil {
			t.Error(err)
			return
		}
		if s.inside.Add(1) != 1 || s.last.Swap(lease.Token()) >= lease.Token() {
			t.Errorf("%s: two inside, or a token that did not rise", m.Name())
		}
		s.inside.Add(-1)
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
}

func (s suite) exclusion(t *testing.T) {
	var all section
	var wg sync.WaitGroup
	for range 4 {
		m := s.client(t, 0).Mutex("all")
		for range 4 {
			wg.Go(func() { all.enter(t, m, 25) })
		}
	}
	wg.Wait()
}

// manyCallers: 100 callers ask at once, so that requests go out by EvalAll, those of two
// processes that want the same names.
func (s suite) manyCallers(t *testing.T) {
	var sections [100]section
	var wg sync.WaitGroup
	for range 2 {
		c := s.client(t, 0)
		for i := range sections {
			wg.Go(func() { sections[i].enter(t, c.Mutex(fmt.Sprint("many:", i)), 3) })
		}
	}
	wg.Wait()
}

func (s suite) inspect(t *testing.T) {
	c := s.client(t, 0)
	lease := lock(t, c.Mutex("seen"))
	state, err := admin.Of(c).Inspect(within(t), "seen")
	if err != nil {
		t.Fatal(err)
	}
	if h := state.Holder; h == nil || !h.Own || h.Owner != c.Owner() || h.TTL != holdfast.DefaultTTL || h.Remaining <= 0 || state.Token < lease.Token() {
		t.Fatalf("Inspect: got %+v with holder %+v", state, state.Holder)
	}
	var names []string
	for name, err := range admin.Of(c).Names(within(t), "see") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names) != 1 || names[0] != "seen" {
		t.Fatalf("Names: got %q, want seen", names)
	}
	release(t, lease)
}

func (s suite) deadlock(t *testing.T) {
	c := s.client(t, 0)
	lease := lock(t, c.Mutex("dead"))
	ctx := lease.Context(within(t))
	if _, err := c.Mutex("dead").Lock(ctx); !errors.Is(err, holdfast.ErrDeadlock) {
		t.Fatalf("Lock under its own lease: got %v, want ErrDeadlock", err)
	}
	m := c.Mutex("dead")
	m.Reentrant = true
	shared, err := m.Lock(ctx)
	if err != nil || shared.Token() != lease.Token() {
		t.Fatalf("reentrant Lock: got %v, want the same token", err)
	}
	release(t, lease)
	if err := shared.Err(); err != nil {
		t.Fatalf("the last share must keep the lease: %v", err)
	}
	release(t, shared)
}

func (s suite) evalWait(t *testing.T) {
	store := s.open(t)
	key := s.prefix + "wait"
	count := driver.NewScript("count", "return ARGV[1]")
	calls := make([]driver.Call, 10)
	for i := range calls {
		calls[i] = driver.Call{Script: count, Keys: []string{key}, Args: []string{fmt.Sprint(i)}}
	}
	calls[7].Script = driver.NewScript("wrong", "return {err = 'ERR ' .. ARGV[1]}")
	for range 2 { // by source, then by SHA
		results, acked, err := store.EvalWait(within(t), calls, 0, time.Second)
		if err != nil || acked < 0 || len(results) != len(calls) {
			t.Fatalf("EvalWait: got %d results, %d replicas, %v; want %d results", len(results), acked, err, len(calls))
		}
		for i, result := range results {
			var said driver.ServerError
			switch {
			case i == 7 && !errors.As(result.Err, &said):
				t.Fatalf("EvalWait of 10 calls: call 7: got %q, error %v (%[2]T), want a driver.ServerError", result.Reply, result.Err)
			case i != 7 && (result.Err != nil || len(result.Reply) != 1 || result.Reply[0] != fmt.Sprint(i)):
				t.Fatalf("EvalWait of 10 calls: call %d: got %q, error %v, want %q (after NOSCRIPT the call runs by its source)", i, result.Reply, result.Err, fmt.Sprint(i))
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, _, err := store.EvalWait(ctx, calls, 0, time.Second)
	if len(results) != len(calls) || err == nil && results[0].Err == nil {
		t.Fatalf("EvalWait after its context: got %v, %v, want %d errors", results, err, len(calls))
	}
}

// waitReplicas wants more replicas than any server has.
func (s suite) waitReplicas(t *testing.T) {
	store := s.open(t)
	c := holdfast.New(store, &holdfast.Options{Prefix: s.prefix, TTL: time.Second, WaitReplicas: holdfast.MaxWaitReplicas})
	defer c.Close()
	_, err := c.Mutex("copied").Lock(within(t))
	var few *holdfast.ReplicasError
	if !errors.As(err, &few) || !errors.Is(err, holdfast.ErrReplicas) || few.Want != holdfast.MaxWaitReplicas || few.Got >= few.Want {
		t.Fatalf("Lock: got %v, want too few replicas", err)
	}
	release(t, lock(t, s.client(t, 0).Mutex("copied")))
}
