package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// fixed locks a name for a fixed time.
func (s stage) fixed(l *sim.Link, name string, ttl time.Duration) hold {
	s.t.Helper()
	h := s.Watch.Called(l, name)
	m := l.Client.Mutex(name)
	m.TTL, m.NoRenew = ttl, true
	lease, err := m.Lock(s.t.Context())
	if err != nil {
		s.t.Fatalf("%s locks %s: %v", l.Owner, name, err)
	}
	s.Watch.Granted(h, lease)
	return hold{lease, h, s}
}

// expires fails the test unless the lease ends by itself within d, and not much sooner.
func (h hold) expires(d time.Duration) {
	h.s.t.Helper()
	began := time.Now()
	ctx := h.Context(context.Background())
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	lost, ok := errors.AsType[*holdfast.LostError](context.Cause(ctx))
	if took := time.Since(began); !ok || lost.Cause != holdfast.Expired || took < d*9/10 {
		h.s.t.Errorf("after %v the context's cause is %v; want that it expires after nearly %v", took, context.Cause(ctx), d)
	}
	h.s.Watch.Leaves(h.held)
}

// life is how long the lock key lives.
func (s stage) life(name string) time.Duration {
	lock, _, _ := sim.Keys(name)
	left, _ := s.Do("PTTL", lock).(int64)
	return time.Duration(left) * time.Millisecond
}

// A lease without renewal begins with its whole ttl, by an answer or a push, and ends then.
// The next waiter gets the name at once.
func TestNoRenew(t *testing.T) {
	for _, pushed := range []bool{false, true} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			if pushed {
				first := s.lock(p1, "n")
				time.AfterFunc(3*time.Second, func() { first.release() })
			}
			got := s.fixed(p0, "n", 5*time.Second)
			asked := 0
			s.on(func(step sim.Step, _ *sim.Fate) {
				if step.Process == 0 && (step.Kind == "renew" || step.Kind == "held") {
					asked++
				}
			})
			next := s.waits(p1, "n")
			got.expires(5 * time.Second)
			s.soon("the next", next, 20*time.Millisecond).release()
			if asked > 1 { // once when its subscription is up
				t.Errorf("it asked %d times; want once at most", asked)
			}
			if err := got.Release(); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("Release: %v; want ErrLost", err)
			}
		})
	}
}

// Extend prolongs once, and never ends a lease sooner. Whatever the lock key has left then, the next
// gets the name at the end.
func TestExtend(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		got := s.fixed(p0, "n", 5*time.Second)
		time.Sleep(2 * time.Second)
		extend := func(ttl, want time.Duration) {
			t.Helper()
			if err := got.Extend(t.Context(), ttl); err != nil {
				t.Errorf("Extend by %v: %v", ttl, err)
			}
			if left := got.Remaining(); left > want || left < want*98/100-10*time.Millisecond {
				t.Errorf("%v are left after Extend by %v; want nearly %v", left, ttl, want)
			}
		}
		extend(20*time.Second, 20*time.Second)
		time.Sleep(2 * time.Second)
		extend(3*time.Second, 18*time.Second)
		time.Sleep(17500 * time.Millisecond)
		extend(time.Second, time.Second)
		if s.life("n") < 4*time.Second {
			t.Errorf("the lock key lives for %v; want the ttl of the Mutex, or the next test says nothing", s.life("n"))
		}
		next := s.waits(p1, "n")
		got.expires(got.Remaining() + 5*time.Millisecond)
		s.soon("the next", next, 20*time.Millisecond).release()
		if err := got.Extend(t.Context(), time.Second); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Extend at its end: %v; want ErrLost", err)
		}
	})
}

// An order is heard though nothing is renewed: it asks, again and again until it is answered,
// and the lock key is not prolonged by that. EnsureHeld prolongs nothing, either.
func TestNoRenewAsks(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		got := s.fixed(p0, "n", 10*time.Second)
		time.Sleep(3 * time.Second)
		if err := got.EnsureHeld(t.Context()); err != nil || got.Remaining() > 7*time.Second || s.life("n") > 7*time.Second {
			t.Errorf("EnsureHeld: %v, and %v are left, of the lock key %v; want no more than before", err, got.Remaining(), s.life("n"))
		}
		held := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "held" {
				held++
				f.LoseOut = held == 1
			}
		})
		s.revoke(p1, "n", "why")
		time.Sleep(2500 * time.Millisecond) // less than it takes until a question counts as lost
		s.lostBy("the lease", got.Err(), holdfast.Revoked, "why")
		if held != 2 {
			t.Errorf("it asked %d times; want twice", held)
		}
		if s.life("n") > 4500*time.Millisecond {
			t.Errorf("the lock key lives for %v; want no more than before", s.life("n"))
		}
		s.Watch.Leaves(got.held)
		_ = got.Release()
		s.lock(p1, "n").release()
	})
}

// What does not go together says so, before anything is sent.
func TestExtendIsRefused(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		renewed, fixed := s.lock(p0, "n"), s.fixed(p0, "m", 5*time.Second)
		s.on(func(step sim.Step, _ *sim.Fate) { t.Errorf("%s was sent", step.Kind) })
		if err := renewed.Extend(t.Context(), time.Minute); err == nil || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Extend of a lease that is renewed: %v; want an error", err)
		}
		if _, err := fixed.Export(); err == nil || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Export of a lease that is not renewed: %v; want an error", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("Extend by a nanosecond: want a panic")
				}
			}()
			_ = fixed.Extend(t.Context(), 1)
		}()
		s.on(func(sim.Step, *sim.Fate) {})
		renewed.release()
		fixed.release()
	})
}

// A Mutex with NoRenew alone makes such leases, with the ttl of its Client.
func TestNoRenewAlone(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		m := s.process("p0", 6*time.Second).Client.Mutex("n")
		m.NoRenew = true
		lease, err := m.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if left := lease.Remaining(); left > time.Second {
			t.Errorf("%v are left; want less than 1 s", left)
		}
		if err := lease.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
	})
}

// A revocation that nobody heard of is kept as long as the lease may last, not for a ttl alone.
func TestNoRenewRevokedUnnoticed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "revoked" })
		s.subscribe(p0)
		got := s.fixed(p0, "n", 5*time.Second)
		if err := got.Extend(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		s.revoke(p1, "n", "why")
		time.Sleep(50 * time.Minute)
		_, err := got.CheckHeld(t.Context())
		s.lostBy("CheckHeld", err, holdfast.Revoked, "why")
		got.stops()
	})
}

// After a Revoke the next gets the name when the holder releases it, or a ttl later, though
// Extend gave it a day; where less than a ttl was left, at that end.
func TestNoRenewRevokedLeavesATTL(t *testing.T) {
	for _, extends := range []time.Duration{24 * time.Hour, 2 * time.Second} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			s.subscribe(p0, p1)
			got := s.fixed(p0, "n", 5*time.Second)
			time.Sleep(2500 * time.Millisecond)
			if err := got.Extend(t.Context(), extends); err != nil {
				t.Fatal(err)
			}
			next := s.waits(p1, "n")
			s.revoke(p1, "n", "why")
			got.over(10*time.Millisecond, holdfast.Revoked, "why")
			if extends > 5*time.Second {
				s.notBefore("the next, before a ttl", next, 4900*time.Millisecond)
			}
			s.Watch.Leaves(got.held)
			s.soon("the next, after a ttl", next, 5100*time.Millisecond).release()
			if err := got.Release(); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("Release: %v; want ErrLost", err)
			}
		})
	}
}
