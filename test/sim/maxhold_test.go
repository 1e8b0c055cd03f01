package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// atMost locks a name for at most d.
func (s stage) atMost(l *sim.Link, name string, d time.Duration) hold {
	s.t.Helper()
	h := s.Watch.Called(l, name)
	mutex := l.Client.Mutex(name)
	mutex.MaxHold = d
	lease, err := mutex.Lock(s.t.Context())
	if err != nil {
		s.t.Fatalf("%s locks %s: %v", l.Owner, name, err)
	}
	s.Watch.Granted(h, lease)
	return hold{lease, h, s}
}

// endsAt fails the test unless the lease ends, cause MaxHold, d after it began.
func (h hold) endsAt(d time.Duration) {
	h.s.t.Helper()
	ctx := h.Context(context.Background())
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(h.held.Got.Add(d)) + 10*time.Millisecond):
	}
	lost, ok := errors.AsType[*holdfast.LostError](context.Cause(ctx))
	if got := time.Since(h.held.Got); !ok || lost.Cause != holdfast.MaxHold || got < d {
		h.s.t.Errorf("after %v the context's cause is %v; want MaxHold after %v", got, context.Cause(ctx), d)
	}
	if left := h.Remaining(); left != 0 {
		h.s.t.Errorf("%v remain; want none", left)
	}
}

// A lease ends when it has lasted long enough: at that moment, with its cause. It is
// not renewed any more; the name is given on by Release, to others and to the own
// line, which asks under a new id.
func TestMaxHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second)
		s.subscribe(p0, p1)
		ids := map[string]bool{}
		var renewed time.Time
		s.on(func(step sim.Step, _ *sim.Fate) {
			switch {
			case step.Process == 0 && step.Kind == "lock":
				ids[step.ID] = true
			case step.Process == 0 && step.Kind == "renew":
				renewed = time.Now()
			}
		})
		first := s.atMost(p0, "n", 20*time.Second)
		own := s.waits(p0, "n")
		next := s.waits(p1, "n")
		if left := first.Remaining(); left > 6*time.Second {
			t.Errorf("%v remain; want the ttl at most", left)
		}
		time.Sleep(18 * time.Second)
		if left := first.Remaining(); left > 2*time.Second {
			t.Errorf("%v remain; want no more than to the end", left)
		}
		first.endsAt(20 * time.Second)
		s.Atomically(func() {
			if renewed.Before(first.held.Got.Add(17 * time.Second)) {
				t.Error("it was not renewed while it lasted")
			}
			renewed = time.Time{}
		})
		time.Sleep(2 * time.Second) // its work is stopping, and nobody else begins
		select {
		case <-own:
			t.Error("the own caller gets the tenure")
		case <-next:
			t.Error("the name is given on before the release")
		default:
		}
		s.Watch.Leaves(first.held)
		if err := first.Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release = %v; want ErrLost", err)
		}
		s.soon("the next", next, 50*time.Millisecond).release()
		s.Atomically(func() {
			if !renewed.IsZero() {
				t.Error("it was renewed after its end")
			}
		})
		s.soon("the own caller", own, 50*time.Millisecond).release()
		if len(ids) != 2 {
			t.Errorf("p0 asked under %d ids; want 2", len(ids))
		}
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// When Release returns, the name has been given back in Redis: a process that ends
// then leaves nothing locked, for a ttl or for any time.
func TestMaxHoldGivenBack(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Minute), s.process("p1", 6*time.Second)
		first := s.atMost(p0, "n", 10*time.Second)
		first.endsAt(10 * time.Second)
		s.Watch.Leaves(first.held)
		_ = first.Release()
		p0.Kill()
		s.soon("the next", s.waits(p1, "n"), 50*time.Millisecond).release()
	})
}

// The process was suspended beyond the end, and beyond a renewal: the first look says
// so, and it is not renewed any more.
func TestMaxHoldAfterASuspend(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Minute)
		first := s.atMost(p0, "n", 10*time.Second)
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind == "renew" {
				t.Error("it is renewed after its end")
			}
		})
		p0.Leap(25 * time.Second)
		if lost, ok := errors.AsType[*holdfast.LostError](first.Err()); !ok || lost.Cause != holdfast.MaxHold {
			t.Errorf("Err = %v; want MaxHold", first.Err())
		}
		time.Sleep(time.Second)
		s.Watch.Leaves(first.held)
		_ = first.Release()
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// The process was suspended beyond the end. Whatever would renew the lease before its timer
// runs does not, and says that it is over: the name would stay for another ttl.
func TestMaxHoldIsNotRenewed(t *testing.T) {
	ensured := func(h hold, err error) {
		h.s.t.Helper()
		if lost, ok := errors.AsType[*holdfast.LostError](err); !ok || lost.Cause != holdfast.MaxHold {
			h.s.t.Errorf("%v; want lost, cause MaxHold", err)
		}
	}
	for name, act := range map[string]func(t *testing.T, s stage, p, op *sim.Link, h hold){
		"EnsureHeld": func(t *testing.T, _ stage, _, _ *sim.Link, h hold) { ensured(h, h.EnsureHeld(t.Context())) },
		"Export": func(_ *testing.T, _ stage, _, _ *sim.Link, h hold) {
			text, err := h.Export()
			if ensured(h, err); text != "" {
				h.s.t.Errorf("the text %q beside an error", text)
			}
		},
		"Confirm": func(t *testing.T, _ stage, p, _ *sim.Link, _ hold) {
			if err := p.Client.Confirm(t.Context(), "n"); err != nil {
				t.Errorf("Confirm: %v", err)
			}
		},
		"reconnect":         func(_ *testing.T, _ stage, p, _ *sim.Link, _ hold) { p.Cut() },
		"revoked":           func(_ *testing.T, s stage, _, op *sim.Link, _ hold) { s.revoke(op, "n", reason) },
		"revoked by itself": func(_ *testing.T, s stage, p, _ *sim.Link, _ hold) { s.revoke(p, "n", reason) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, op := s.process("p0", time.Minute), s.process("op", time.Minute)
				if name != "revoked by itself" { // a push would tell it
					s.subscribe(p0)
				}
				first := s.atMost(p0, "n", 10*time.Second)
				p0.Leap(15 * time.Second)
				s.Watch.Leaves(first.held)
				s.on(func(step sim.Step, _ *sim.Fate) {
					if step.Kind == "renew" {
						t.Error("it is renewed after its end")
					}
				})
				act(t, s, p0, op, first)
				time.Sleep(200 * time.Millisecond)
				ensured(first, first.Err())
				_ = first.Release()
				time.Sleep(100 * time.Millisecond)
				s.nothingLeft("n")
			})
		})
	}
}
