//go:build linux

package wallclock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/wallclock"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// ahead is how far the server's TIME is ahead of this process's.
func ahead(t *testing.T, s *redistest.Server, command ...any) time.Duration {
	t.Helper()
	var seconds, micros int64
	if _, err := fmt.Sscan(s.MustDo(t, command...), &seconds, &micros); err != nil {
		t.Fatal(err)
	}
	return time.Until(time.Unix(seconds, micros*1000))
}

func near(got, want time.Duration) bool { return (got - want).Abs() < 2*time.Second }

// A server's TIME jumps while it runs, in scripts too, forward and back, and its
// keys end by it; another server's does not.
func TestTime(t *testing.T) {
	clock := wallclock.Start(t)
	s := redistest.Start(t, redistest.Options{Env: clock.Env()})
	other := redistest.Start(t, redistest.Options{})
	script := []any{"EVAL", "return redis.call('TIME')", 0}
	for _, step := range []time.Duration{0, 10 * time.Second, time.Hour, -time.Hour, -10 * time.Second, -time.Hour} {
		s.MustDo(t, "SET", "key", "x", "PX", 5000)
		clock.Set(step)
		if got := ahead(t, s, "TIME"); !near(got, step) {
			t.Errorf("TIME: got %v ahead, want %v", got, step)
		}
		if got := ahead(t, s, script...); !near(got, step) {
			t.Errorf("TIME in a script: got %v ahead, want %v", got, step)
		}
		if got := ahead(t, other, "TIME"); !near(got, 0) {
			t.Errorf("TIME of another server: got %v ahead, want 0", got)
		}
		want := "1" // it goes back to the right time each round, but its key does not
		if step > 0 {
			want = "0"
		}
		if got := s.MustDo(t, "EXISTS", "key"); got != want {
			t.Errorf("EXISTS, after a step to %v: got %s, want %s", step, got, want)
		}
		var left int64
		if _, err := fmt.Sscan(s.MustDo(t, "PTTL", "key"), &left); err != nil {
			t.Fatal(err)
		}
		if got, want := time.Duration(left)*time.Millisecond, 5*time.Second-step; step <= 0 && !near(got, want) {
			t.Errorf("PTTL, after a step to %v: got %v, want %v", step, got, want)
		}
		clock.Set(0)
		s.MustDo(t, "DEL", "key")
	}
}

// A clock that drifts goes fast by what it was told to, and its keys end early.
func TestDrift(t *testing.T) {
	clock := wallclock.Start(t)
	s := redistest.Start(t, redistest.Options{Env: clock.Env()})
	s.MustDo(t, "SET", "key", "x", "PX", 60_000)
	began := time.Now()
	stop := clock.Drift(10_000_000) // eleven times as fast
	for s.MustDo(t, "EXISTS", "key") == "1" && time.Since(began) < 50*time.Second {
		time.Sleep(5 * time.Millisecond)
	}
	took := time.Since(began)
	stop()
	if want := 60 * time.Second / 11; took < want-time.Second || took > want+4*time.Second {
		t.Errorf("a key of a minute lived for %v, want %v", took, want)
	}
}
