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

// A renewal that comes late, or twice, cuts nothing that Extend gave since: neither that by which
// Lock made the lease whole nor an older Extend.
func TestExtendIsNotCut(t *testing.T) {
	for _, older := range []bool{false, true} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			late := func() {
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Process == 0 && step.Kind == "renew" {
						f.Twice, f.Again = true, 4*time.Second
					}
				})
			}
			first := s.lock(p1, "n")
			time.AfterFunc(3*time.Second, func() { first.release() })
			if !older {
				late()
			}
			got := s.fixed(p0, "n", 5*time.Second)
			if older {
				late()
				if err := got.Extend(t.Context(), 7*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			s.on(func(sim.Step, *sim.Fate) {})
			if err := got.Extend(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			time.Sleep(6 * time.Second)
			if left := s.life("n"); left < got.Remaining() {
				t.Errorf("the lock key lives for %v, and the holder believes in %v", left, got.Remaining())
			}
			got.release()
		})
	}
}

// Nobody hears the answer of Extend: the lease ends as before, and the name is free when
// that is over, though the unlock is lost for a while.
func TestExtendUnanswered(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		got := s.fixed(p0, "n", 5*time.Second)
		next := s.waits(p1, "n")
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseBack = step.Kind == "renew" && step.Process == 0 })
		if err := got.Extend(t.Context(), time.Minute); !errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("Extend: %v; want ErrUnreachable", err)
		}
		lost := time.Now().Add(15 * time.Second) // longer than the ttl, and shorter than what was asked for
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = step.Kind == "unlock" && step.Process == 0 && time.Now().Before(lost)
		})
		got.expires(got.Remaining() + 5*time.Millisecond)
		s.soon("the next", next, 20*time.Second).release()
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

// One who shares the lease asks for MinHold, which takes a renewal. The lease ends
// as before.
func TestNoRenewShared(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		got := s.fixed(p0, "n", 5*time.Second)
		time.Sleep(2 * time.Second)
		m := p0.Client.Mutex("n")
		m.Reentrant, m.MinHold = true, 7*time.Second
		shared, err := m.Lock(got.Context(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if left := got.Remaining(); left > 3*time.Second || s.life("n") < 4*time.Second {
			t.Errorf("%v are left, of the lock key %v; want at most 3 s, and the lock key longer", left, s.life("n"))
		}
		got.expires(3 * time.Second)
		_, _ = got.Release(), shared.Release()
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

// MaxHold ends such a lease all the same, and MinHold makes its name cool down.
func TestNoRenewWithMaxHoldAndMinHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		m := p0.Client.Mutex("n")
		m.TTL, m.NoRenew, m.MaxHold, m.MinHold = 5*time.Second, true, 8*time.Second, 9*time.Second
		lease, err := m.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := lease.Extend(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		<-lease.Done()
		if took := time.Since(began); took > 8001*time.Millisecond || took < 8*time.Second {
			t.Errorf("it ended after %v; want 8 s", took)
		}
		_ = lease.Release()
		next := s.waits(p1, "n")
		s.soon("the next", next, time.Second).release()
		if took := time.Since(began); took < 9*time.Second {
			t.Errorf("the next got the name after %v; want 9 s at least", took)
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

// failing is a way for Redis not to say whether the lease is held.
func (s stage) failing(kind string, until time.Time) {
	s.on(func(step sim.Step, f *sim.Fate) {
		if step.Kind == kind && time.Now().Before(until) {
			f.Refuse = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
		}
	})
}

// A lease that Extend gave an hour asks again soon whether it was revoked, also after minutes without an
// answer, and where the Client itself has revoked it and has no subscription.
func TestNoRenewAsksAgainSoon(t *testing.T) {
	for _, c := range []struct {
		own         bool
		fails, soon time.Duration
	}{
		{false, 100 * time.Millisecond, 300 * time.Millisecond},
		{true, 100 * time.Millisecond, 300 * time.Millisecond},
		{false, 5 * time.Minute, 6 * time.Second},
	} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			op := p0
			if !c.own {
				s.subscribe(p0)
				op = p1
			}
			got := s.fixed(p0, "n", 10*time.Second)
			if err := got.Extend(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			s.failing("held", time.Now().Add(c.fails))
			s.revoke(op, "n", "why")
			time.Sleep(c.fails)
			got.over(c.soon, holdfast.Revoked, "why")
			got.stops()
		})
	}
}

// What was sent before an order is answered after it, by ours or renewed: the order is
// asked about all the same.
func TestNoRenewOlderAnswer(t *testing.T) {
	for _, kind := range []string{"held", "renew"} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			s.subscribe(p0)
			got := s.fixed(p0, "n", 10*time.Second)
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == kind {
					f.Back = 1500 * time.Millisecond
				}
			})
			answered := make(chan error, 1)
			go func() {
				if kind == "renew" {
					answered <- got.Extend(t.Context(), 24*time.Hour)
					return
				}
				_, err := got.CheckHeld(t.Context())
				answered <- err
			}()
			time.Sleep(500 * time.Millisecond)
			s.failing("held", time.Now().Add(2*time.Second))
			s.revoke(p1, "n", "why")
			if err := <-answered; err != nil {
				t.Errorf("the older one, %s: %v; want an answer", kind, err)
			}
			time.Sleep(time.Second)
			got.over(1500*time.Millisecond, holdfast.Revoked, "why")
			got.stops()
		})
	}
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

// An order is pushed while a lease is made whole after a wait. The questions that follow fail, and
// the renewal, which is older than the order, is answered: the order is not forgotten.
func TestNoRenewOrderBeforeTheTurn(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		s.subscribe(p0, p1, op)
		first := s.lock(p1, "n")
		renewals := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process != 0 || step.Kind != "renew" {
				return
			}
			if renewals++; renewals == 1 {
				f.Back = 60 * time.Millisecond
			} else {
				f.Refuse = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
			}
		})
		time.AfterFunc(time.Second, func() { first.release() })
		time.AfterFunc(time.Second+5*time.Millisecond, func() { s.revoke(op, "n", "why") })
		got := s.fixed(p0, "n", time.Hour)
		got.over(20*time.Minute, "revoked", "why")
		got.stops()
	})
}

// One renewal makes a lease whole after a wait, and then nothing is asked.
func TestNoRenewAfterAWait(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		first := s.lock(p1, "n")
		asked := 0
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Process == 0 && (step.Kind == "renew" || step.Kind == "held") {
				asked++
			}
		})
		time.AfterFunc(time.Second, func() { first.release() })
		got := s.fixed(p0, "n", time.Hour)
		time.Sleep(50 * time.Minute)
		if asked != 1 {
			t.Errorf("asked %d times, want once", asked)
		}
		got.release()
	})
}
