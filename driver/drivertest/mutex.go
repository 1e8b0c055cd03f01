package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

func lockAndRelease(t *testing.T, s suite) {
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

func tryLockHeld(t *testing.T, s suite) {
	a, b := s.client(t, 0), s.client(t, 0)
	lease := lock(t, a.Mutex("try"))
	for _, c := range []*holdfast.Client{a, b} {
		_, err := c.Mutex("try").TryLock(bounded(t))
		var held *holdfast.HeldError
		if !errors.As(err, &held) || held.Owner != a.Owner() {
			t.Fatalf("TryLock: got %v, want a HeldError that names %s", err, a.Owner())
		}
	}
	release(t, lease)
	lease, err := b.Mutex("try").TryLock(bounded(t))
	if err != nil {
		t.Fatalf("TryLock of a free name: %v", err)
	}
	release(t, lease)
}

func handOver(t *testing.T, s suite) {
	a, b := s.client(t, 0), s.client(t, 0)
	first := lock(t, a.Mutex("over"))
	got := make(chan *holdfast.Lease)
	go func() {
		lease, err := b.Mutex("over").Lock(bounded(t))
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

func firstCome(t *testing.T, s suite) { s.inOrder(t, "line", 5, mutex) }

func turns(t *testing.T, s suite) {
	m := s.client(t, 0).Mutex("turns")
	var v visits
	for range 8 {
		v.begin(t, 50, func() (*holdfast.Lease, error) { return m.Lock(bounded(t)) })
	}
	v.all.Wait()
}

func givenUp(t *testing.T, s suite) { s.givenUp(t, "up", mutex) }

// mutex locks a name as a Mutex.
func mutex(ctx context.Context, c *holdfast.Client, name string, try bool) (*holdfast.Lease, error) {
	if try {
		return c.Mutex(name).TryLock(ctx)
	}
	return c.Mutex(name).Lock(ctx)
}

func expiry(t *testing.T, s suite) { release(t, s.outlives(t, "kept", mutex)) }

func lost(t *testing.T, s suite) {
	store := s.open(t)
	c := holdfast.New(store, &holdfast.Options{Prefix: s.prefix, TTL: 300 * time.Millisecond})
	defer c.Close()
	lease := lock(t, c.Mutex("lost"))
	ctx := lease.Context(t.Context())
	del := driver.NewScript("del", "return redis.call('DEL', KEYS[1])")
	if _, err := store.Eval(bounded(t), driver.Call{Script: del, Keys: []string{s.prefix + "lost"}}); err != nil {
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

func closing(t *testing.T, s suite) {
	a, b := s.client(t, 0), s.client(t, 0)
	lease := lock(t, a.Mutex("close"))
	if err := a.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := lease.Err(); !errors.Is(err, holdfast.ErrClosed) || !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("Err after Close: got %v, want ErrLost and ErrClosed", err)
	}
	if _, err := a.Mutex("close").Lock(bounded(t)); !errors.Is(err, holdfast.ErrClosed) {
		t.Fatalf("Lock after Close: got %v, want ErrClosed", err)
	}
	next, err := b.Mutex("close").TryLock(bounded(t))
	if err != nil {
		t.Fatalf("TryLock after the holder's Close: %v", err)
	}
	release(t, next)
}

func exclusion(t *testing.T, s suite) { s.excludes(t, "all", 4, 25, mutex) }

// manyWaiters: 100 callers in each of two processes ask at once for the same names, so that
// requests go out by EvalAll.
func manyWaiters(t *testing.T, s suite) {
	var names [100]visits
	for range 2 {
		c := s.client(t, 0)
		for i := range names {
			m := c.Mutex(fmt.Sprint("many:", i))
			names[i].begin(t, 3, func() (*holdfast.Lease, error) { return m.Lock(bounded(t)) })
		}
	}
	for i := range names {
		names[i].all.Wait()
	}
}

func inspect(t *testing.T, s suite) {
	c := s.client(t, 0)
	lease := lock(t, c.Mutex("seen"))
	state, err := admin.Of(c).Inspect(bounded(t), "seen")
	if err != nil {
		t.Fatal(err)
	}
	if h := state.Holder; h == nil || !h.Own || h.Owner != c.Owner() || h.TTL != holdfast.DefaultTTL || h.Remaining <= 0 || state.Token < lease.Token() {
		t.Fatalf("Inspect: got %+v with holder %+v", state, state.Holder)
	}
	set := driver.NewScript("set", "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)")
	for name, value := range map[string]string{"seen:alone": "client.nonce.60000|other", "foreign": "x"} { // without a fence key
		if _, err := s.open(t).Eval(bounded(t), driver.Call{Script: set, Keys: []string{s.prefix + name}, Args: []string{value}}); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"see": "seen seen:alone", "for": "foreign", "": ""} {
		var names []string
		for name, err := range admin.Of(c).Names(bounded(t), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want && prefix != "" || prefix == "" && (slices.Contains(names, "foreign") || !slices.Contains(names, "seen:alone")) {
			t.Fatalf("Names of %q: got %q, want %q", prefix, got, want)
		}
	}
	release(t, lease)
}

func deadlock(t *testing.T, s suite) {
	c := s.client(t, 0)
	lease := lock(t, c.Mutex("dead"))
	ctx := lease.Context(bounded(t))
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

// waitReplicas wants more replicas than any server has.
func waitReplicas(t *testing.T, s suite) {
	store := s.open(t)
	c := holdfast.New(store, &holdfast.Options{Prefix: s.prefix, TTL: time.Second, WaitReplicas: holdfast.MaxWaitReplicas})
	defer c.Close()
	_, err := c.Mutex("copied").Lock(bounded(t))
	var few *holdfast.ReplicasError
	if !errors.As(err, &few) || !errors.Is(err, holdfast.ErrReplicas) || few.Want != holdfast.MaxWaitReplicas || few.Got >= few.Want {
		t.Fatalf("Lock: got %v, want too few replicas", err)
	}
	release(t, lock(t, s.client(t, 0).Mutex("copied")))
}
