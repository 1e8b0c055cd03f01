package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
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
			return time.Until(e.process.Schedule.Wakes())
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
