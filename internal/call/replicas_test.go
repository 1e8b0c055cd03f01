package call_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
)

// replicated answers a WAIT as acks does.
type replicated struct {
	store
	acks func(want int, wait time.Duration) (int, error)
}

func (s *replicated) EvalWait(ctx context.Context, calls []driver.Call, want int, wait time.Duration) ([]driver.Result, int, error) {
	results := s.EvalAll(ctx, calls)
	acked, err := s.acks(want, wait)
	return results, acked, err
}

func TestReplicas(t *testing.T) {
	var connected string
	asked, split := 0, false
	s := &replicated{}
	s.eval = func(_ context.Context, c driver.Call) ([]string, error) {
		switch {
		case c.Script == script.Replicas:
			asked++
			return []string{connected}, nil
		case split && c.Script == script.Renew:
			return nil, tryAgain
		}
		return []string{"renewed"}, nil
	}
	wait := &call.Replicas{Store: s, Clock: clock.New(func() time.Duration { return 0 }), Want: 2}
	calls := []driver.Call{{Script: script.Renew, Keys: []string{"a"}, Args: []string{"id"}}, {Script: script.Renew, Keys: []string{"b"}, Args: []string{"id"}}}
	ends := func(i int) clock.Instant { return clock.Instant(time.Duration(i+1) * 3 * time.Second) }
	eval := func(about string, wantAsked int, wantWait time.Duration) call.Acknowledged {
		t.Helper()
		before := asked
		acks := s.acks
		s.acks = func(want int, wait time.Duration) (int, error) {
			if wantWait > 0 && wait != wantWait {
				t.Errorf("%s: WAIT %v, want %v", about, wait, wantWait)
			}
			return acks(want, wait)
		}
		defer func() { s.acks = acks }()
		all := wait.Eval(t.Context(), calls, ends)
		if asked-before != wantAsked {
			t.Errorf("%s: asked %d times how many are connected, want %d", about, asked-before, wantAsked)
		}
		return all[1]
	}
	s.acks = func(want int, _ time.Duration) (int, error) { return want, nil }
	connected = "1"
	if got := eval("one is connected", 1, time.Second); got.Acked != 1 || got.Connected != 1 {
		t.Errorf("got %+v, want one of one", got)
	}
	connected = "3"
	if got := eval("three are", 1, time.Second); got.Acked != 2 || got.Connected != 3 {
		t.Errorf("got %+v, want two of three", got)
	}
	if got := eval("the last WAIT was enough", 0, time.Second); got.Acked != 2 || got.Connected != -1 {
		t.Errorf("got %+v, want two of unknown", got)
	}
	split = true
	if got := eval("the slot is split", 0, 0); got.Err != nil || got.Acked != 2 {
		t.Errorf("got %+v, want a renewal of the lock key alone", got)
	}
	split = false
	s.acks = func(int, time.Duration) (int, error) { return 0, errGone }
	if got := eval("WAIT fails", 0, 0); !errors.Is(got.Err, errGone) {
		t.Errorf("got %v, want %v", got.Err, errGone)
	}
	eval("it has failed", 1, 0)
}

func TestWaitFor(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		time.Minute: 2 * time.Second, 3 * time.Second: time.Second, time.Millisecond: time.Millisecond, -time.Hour: time.Millisecond,
	} {
		if got := call.WaitFor(left); got != want {
			t.Errorf("with %v left: got %v, want %v", left, got, want)
		}
	}
}
