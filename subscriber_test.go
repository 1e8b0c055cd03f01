package holdfast

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// listened is a core in a Cluster with so many names, each with one local name of a Mutex or
// two of a Semaphore.
func listened(t *testing.T, names int, semaphores bool) (c *core, all []*localName) {
	t.Helper()
	c = newCore((&Options{}).withDefaults(), nil, true)
	c.process.sub = nil
	t.Cleanup(c.cancel)
	for i := range names {
		name := fmt.Sprintf("n%d", i)
		k, err := keysOf(c.options.Prefix, name)
		if err != nil {
			t.Fatal(err)
		}
		own := c.process.plain
		if semaphores {
			own = c.process.sharedKind(keyspace.Permits, 1, 1)
			all = append(all, c.process.newName(name+"\x00", name, k, own))
		}
		all = append(all, c.process.newName(name, name, k, own))
	}
	return c, all
}

// A subscription that begins, is confirmed or breaks looks at the lines of its own name
// only: thousands may break at once, and each holds the Client's mutex meanwhile.
func TestSubscriptionVisitsItsOwnNames(t *testing.T) {
	for what, semaphores := range map[string]bool{"mutexes": false, "semaphores": true} {
		t.Run(what, func(t *testing.T) {
			const names = 100
			c, all := listened(t, names, semaphores)
			for key := range c.process.names {
				c.process.names[key] = nil // who looks at it panics
			}
			defer func() {
				if recover() != nil {
					t.Error("it looks at the lines of other names")
				}
			}()
			for _, n := range all {
				visits := 0
				for own := range n.sub.names() {
					if visits++; own.name != n.name {
						t.Errorf("%s is told of the subscription of %s", own.name, n.name)
					}
				}
				if want := len(all) / names; visits != want {
					t.Fatalf("%s: %d lines are told of its subscription, want %d", n.name, visits, want)
				}
			}
		})
	}
}

// The acquisitions of one name share a subscription, which ends with the last of them.
func TestSubscriptionEndsWithItsLastName(t *testing.T) {
	c, all := listened(t, 1, true)
	first, last := all[0], all[1]
	if first.sub != last.sub {
		t.Fatal("two acquisitions of one name have two subscriptions")
	}
	first.sub.open()
	c.afterUnlock = nil
	first.forget(1)
	if c.keepers[first.sub] == nil || len(c.process.sharedSubs) != 1 {
		t.Error("a subscription ended while somebody listened")
	}
	for n := range last.sub.names() {
		if n != last {
			t.Error("a name that is forgotten still listens")
		}
	}
	last.forget(2)
	coreHost{c}.listen(last.sub, true) // a timer of before
	if c.keepers[last.sub] != nil || len(c.process.sharedSubs) != 0 {
		t.Error("a subscription outlives those who listened")
	}
}

// cut is a store whose subscriptions all end at once.
type cut struct {
	driver.Store
	ends chan struct{}
}

func (s *cut) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return s, nil
}
func (s *cut) Ping(context.Context) error { return nil }
func (s *cut) Done() <-chan struct{}      { return s.ends }
func (s *cut) Close()                     {}
func (s *cut) Sharded() bool              { return false }

// A caller does not wait until all subscriptions that broke at once have been
// dealt with.
func TestManyBrokenSubscriptionsLetCallersPass(t *testing.T) {
	const n = 200
	store := &cut{ends: make(chan struct{})}
	c := newCore((&Options{}).withDefaults(), nil, true)
	c.store = store
	defer c.cancel()
	subs := make([]*subscriber, n)
	up := func() (up int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range subs {
			if s.confirmed {
				up++
			}
		}
		return up
	}
	c.mu.Lock()
	for i := range subs {
		subs[i] = &subscriber{p: c.process, channel: fmt.Sprint(i)}
		subs[i].open()
	}
	c.unlock()
	sooner(t, "all are confirmed", func() bool { return up() == n })

	c.mu.Lock()
	close(store.ends)
	sooner(t, "all wait for the mutex", func() bool { return blocked("(*keeper).Broke(") == n })
	left := make(chan int)
	go func() { left <- up() }()
	sooner(t, "and a caller behind them", func() bool { return blocked("TestManyBrokenSubscriptionsLetCallersPass.func") == 1 })
	c.unlock()
	if passed := n - <-left; passed > n/10 {
		t.Errorf("a caller waited for %d of %d subscriptions, want %d at most", passed, n, n/10)
	}
}

func sooner(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("not in a minute: " + what)
		}
	}
}

// blocked counts the goroutines that wait for a mutex in a function.
func blocked(in string) (n int) {
	buffer := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		if strings.Contains(stack, in) && strings.Contains(stack, ".lockSlow(") {
			n++
		}
	}
	return n
}
