package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
)

// quick is a store that grants at once.
type quick struct{ driver.Store }

func (quick) Sharded() bool { return false }
func (quick) Eval(_ context.Context, call driver.Call) ([]string, error) {
	if call.Script == script.Unlock {
		return []string{"released"}, nil
	}
	return []string{fmt.Sprintf("granted %d 64 0 1763700000 0", 2*1763700000*1000000)}, nil
}

// Who has given back what it had for a moment wakes up for nothing else.
func TestSleepsOnAfterAShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(settings(), quick{})
		defer func() { _ = e.Close() }()
		turn, err := e.Acquire(t.Context(), Lock{Name: "n"})
		if err != nil {
			t.Fatal(err)
		}
		const often, seldom = 200 * time.Millisecond, 2 * time.Second
		sleeps := func() time.Duration {
			e.mu.Lock()
			defer e.mu.Unlock()
			return time.Until(e.client.Schedule.Wakes())
		}
		if got := sleeps(); got > often {
			t.Errorf("while it holds it sleeps %v, want %v at most", got, often)
		}
		if err := e.Release(turn, false); err != nil {
			t.Fatal(err)
		}
		if got := sleeps(); got < seldom {
			t.Errorf("then it sleeps %v, want %v at least", got, seldom)
		}
	})
}

// A call may end in the moment in which it gets the name. Nothing was done under that lease, so its MinHold
// does not count, not even for a Close right behind it.
func TestMinHoldOfAGrantThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &noting{}
		e := New(settings(), store)
		w := e.waiters.Get().(*pending)
		w.MinHold = time.Hour
		e.mu.Lock()
		_, err := e.client.Enter("n", nil, &w.LocalWaiter, e.clock.Now())
		e.unlock()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = e.abandon(ended, w)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if len(w.ready) > 0 || slices.Contains(store.scripts, script.Cooldown.Name) {
			t.Errorf("Close sent %q; want no cool-down", store.scripts)
		}
	})
}

// noting notes the scripts that it runs.
type noting struct {
	quick
	mu      sync.Mutex
	scripts []string
}

func (s *noting) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.mu.Lock()
	s.scripts = append(s.scripts, call.Script.Name)
	s.mu.Unlock()
	switch call.Script {
	case script.Renew:
		return []string{"renewed", "0", "0", "0"}, nil
	case script.Cooldown:
		return []string{"released"}, nil
	}
	return s.quick.Eval(ctx, call)
}

func (s *noting) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

// Requests that are sent within a sixteenth of an attempt share one context.
func TestBounds(t *testing.T) {
	var b bounds
	at := func(d time.Duration) context.Context {
		return b.attempt(t.Context(), clock.Instant(0).Add(d), 1600*time.Millisecond)
	}
	first := at(time.Hour)
	if at(time.Hour+99*time.Millisecond) != first || at(time.Hour+100*time.Millisecond) == first {
		t.Error("a context is not shared for 100ms")
	}
	if _, ok := first.Deadline(); !ok {
		t.Error("a context without a deadline")
	}
}
