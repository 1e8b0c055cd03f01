package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/machine"
)

// settings are the usual ones.
func settings() Settings {
	return Settings{Settings: machine.Settings{Prefix: "holdfast:", TTL: 15 * time.Second, Owner: "web-1:12"}, Logger: slog.Default()}
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
func (s *cut) Sharded() bool              { return true }
func (s *cut) Eval(ctx context.Context, _ driver.Call) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A caller does not wait until all subscriptions that broke at once have been
// dealt with. The best of five counts: the operating system may take the
// processor from the caller that the mutex has just woken, and then they are
// dealt with meanwhile.
func TestManyBrokenSubscriptionsLetCallersPass(t *testing.T) {
	const n = 200
	best := n
	for range 5 {
		best = min(best, dealtWithBeforeACaller(t, n))
	}
	if best > n/10 {
		t.Errorf("a caller waited for %d of %d subscriptions, want %d at most", best, n, n/10)
	}
}

// dealtWithBeforeACaller breaks n subscriptions at once, and returns how many
// of them got the mutex before a caller that asked for it right after.
func dealtWithBeforeACaller(t *testing.T, n int) int {
	store := &cut{ends: make(chan struct{})}
	c := newEngine(settings(), store, true)
	c.store = store
	defer c.cancel()
	up := func() (up int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for s := range c.keepers {
			if s.Confirmed {
				up++
			}
		}
		return up
	}
	for i := range n {
		for range 2 { // the second has to wait here, so the name subscribes
			c.mu.Lock()
			_, err := c.client.Enter(fmt.Sprint(i), nil, &c.waiters.Get().(*pending).LocalWaiter, c.clock.Now())
			c.unlock()
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	sooner(t, "all are confirmed", func() bool { return up() == n })

	c.mu.Lock()
	close(store.ends)
	sooner(t, "all wait for the mutex", func() bool { return blocked("(*keeper).Broke(") == n })
	left := make(chan int)
	go func() { left <- up() }()
	sooner(t, "and a caller behind them", func() bool { return blocked("dealtWithBeforeACaller.func") == 1 })
	c.unlock()
	return n - <-left
}

// A subscription that was closed is not opened again because its link is to be renewed.
func TestClosedSubscriptionStaysClosed(t *testing.T) {
	c := newEngine(settings(), &cut{ends: make(chan struct{})}, true)
	defer c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &machine.Subscriber{}
	c.client.Host.Listen(s, true)
	if len(c.keepers) != 0 {
		t.Errorf("%d subscriptions are open, want none", len(c.keepers))
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
