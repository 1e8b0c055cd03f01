package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// takes steals a name for l by this Mutex, from its holder.
func (s stage) takes(l *sim.Link, m *holdfast.Mutex, tenure string) hold {
	s.t.Helper()
	h := s.Watch.Called(l, m.Name())
	lease, err := m.Steal(s.t.Context(), tenure, reason)
	if err != nil {
		s.t.Fatalf("%s steals %s: %v\n%s", l.Owner, m.Name(), err, s.History(200))
	}
	s.Watch.Granted(h, lease)
	return hold{lease, h, s}
}

// otherHolder wants a TenureError that names who has the name instead.
func otherHolder(t *testing.T, err error, owner string) {
	t.Helper()
	var wrong *holdfast.TenureError
	switch {
	case !errors.As(err, &wrong) || !errors.Is(err, holdfast.ErrTenure):
		t.Errorf("got %v; want a TenureError", err)
	case (owner == "") != wrong.Free, wrong.Owner != owner:
		t.Errorf("got %v; want %q as the holder", err, owner)
	}
}

// Who steals for itself has the name at once, in front of all who wait. They keep their
// order, and the one who had it learns why it has not. What of it comes late or twice
// changes nothing.
func TestStealForOneself(t *testing.T) {
	for _, fate := range []sim.Fate{{}, {Twice: true}, {Again: 3 * time.Second}, {LoseBack: true}} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, p2, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second), s.process("op", 15*time.Second)
			s.subscribe(p0)
			tries := 0
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "take" {
					if tries++; tries == 1 {
						*f = fate
					}
				}
			})
			holder := s.lock(p0, "n")
			first := s.waits(p1, "n")
			second := s.waits(p2, "n")
			thief := s.takes(op, op.Client.Mutex("n"), s.hash(op, "n"))
			holder.over(10*time.Millisecond, holdfast.Stolen, reason)
			holder.stops()
			if got := s.owner(p0, "n"); got != "op" {
				t.Errorf("%s holds it; want op", got)
			}
			s.notBefore("the first waiter", first, 20*time.Second)
			thief.release()
			a := s.soon("the first waiter", first, 20*time.Millisecond)
			a.release()
			b := s.soon("the second waiter", second, 20*time.Millisecond)
			b.release()
			if holder.Token() >= thief.Token() || thief.Token() >= a.Token() || a.Token() >= b.Token() {
				t.Errorf("tokens %d, %d, %d, %d do not rise", holder.Token(), thief.Token(), a.Token(), b.Token())
			}
			time.Sleep(20 * time.Second)
			s.nothingLeft("n")
		})
	}
}

// The holder is another one when the order arrives, or none, or the name is in cool-down:
// nobody loses anything.
func TestStealForOneselfMeansOneTenure(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		tenure := s.hash(op, "n")
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "take" {
				f.Out = 200 * time.Millisecond
			}
		})
		time.AfterFunc(100*time.Millisecond, holder.release)
		_, err := op.Client.Mutex("n").Steal(t.Context(), tenure, reason)
		otherHolder(t, err, "p1") // it came between the look and the script
		got := s.soon("the next", next, time.Second)
		_, err = op.Client.Mutex("n").Steal(t.Context(), tenure, reason)
		otherHolder(t, err, "p1") // it was there already
		tenure = s.hash(op, "n")
		time.AfterFunc(100*time.Millisecond, got.release)
		_, err = op.Client.Mutex("n").Steal(t.Context(), tenure, reason)
		otherHolder(t, err, "")
		s.keeps(p0, "n", 10*time.Second).release()
		_, err = op.Client.Mutex("n").Steal(t.Context(), tenure, reason)
		otherHolder(t, err, "p0")
		time.Sleep(11 * time.Second)
		s.nothingLeft("n")
	})
}

// A Client steals from itself: the old lease is over before the new one is there, and the
// callers that waited behind it get the name in their turn.
func TestStealForOneselfFromOneself(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "revoked" || step.Kind == "renew" })
		holder := s.lock(p0, "n")
		other := s.waits(p1, "n")
		behind := s.waits(p0, "n")
		thief := s.takes(p0, p0.Client.Mutex("n"), s.hash(p0, "n"))
		holder.over(time.Millisecond, holdfast.Stolen, reason)
		holder.stops()
		s.on(func(sim.Step, *sim.Fate) {})
		thief.release()
		s.soon("the other", other, 20*time.Millisecond).release()
		s.soon("the caller behind the old lease", behind, 50*time.Millisecond).release()
	})
}

// The thief's ttl is short, that of the one who had the name long, and the thief dies:
// those who wait look when the new one is over.
func TestStealForOneselfThenDie(t *testing.T) {
	for _, heads := range []int{0, 3} {
		play(t, func(t *testing.T, s stage) {
			p0, op := s.process("p0", 10*time.Minute), s.process("op", 2*time.Second)
			s.subscribe(p0)
			holder := s.lock(p0, "n")
			var dead []*sim.Link
			for range heads { // they die with the thief
				l := s.process("head", 10*time.Minute)
				s.waits(l, "n")
				dead = append(dead, l)
			}
			p1 := s.process("p1", 10*time.Minute)
			next := s.waits(p1, "n")
			s.takes(op, op.Client.Mutex("n"), s.hash(op, "n"))
			holder.over(10*time.Millisecond, holdfast.Stolen, reason)
			holder.stops()
			for _, l := range append(dead, op) {
				l.Kill()
			}
			s.soon("the next", next, 3*time.Second).release()
		})
	}
}

// The lease is one of this Mutex: with its owner, its ttl, and its times of holding.
func TestStealForOneselfByAMutex(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		s.subscribe(p0, p1)
		holder := s.lock(p0, "n")
		m := op.Client.Mutex("n")
		m.Owner, m.TTL, m.MinHold, m.MaxHold, m.Grace = "ann", 6*time.Second, 20*time.Second, 3*time.Second, time.Second
		thief := s.takes(op, m, s.hash(op, "n"))
		holder.over(10*time.Millisecond, holdfast.Stolen, reason)
		holder.stops()
		if got := s.owner(p0, "n"); got != "ann" {
			t.Errorf("%s holds it; want ann", got)
		}
		if left := thief.Remaining(); left > 6*time.Second {
			t.Errorf("%v remain; want the ttl of the Mutex at most", left)
		}
		next := s.waits(p1, "n")
		thief.endsAt(3 * time.Second)
		s.Watch.Leaves(thief.held)
		s.afterCooldown(next, thief.held.Got, 20*time.Second).release()
		_ = thief.Release()
	})
}

// What can't be: each with an error that says why, and the holder goes on.
func TestStealForOneselfRefused(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.lock(p0, "n")
		reader := s.take(p0, "rw", read)
		steal := func(name, tenure, reason string) error {
			_, err := op.Client.Mutex(name).Steal(t.Context(), tenure, reason)
			return err
		}
		if err := steal("rw", s.hash(op, "rw"), reason); !errors.Is(err, holdfast.ErrKind) {
			t.Errorf("of an RWMutex: %v; want ErrKind", err)
		}
		if err := steal("n", "zz", reason); err == nil {
			t.Error("a hash that is none: no error")
		}
		if err := steal("n", s.hash(op, "n"), " "); err == nil {
			t.Error("no reason: no error")
		}
		time.Sleep(6 * time.Second)
		holder.release()
		reader.release()
	})
}

// A late duplicate of the order does not cut the ttl that MinHold needs.
func TestStealForOneselfLateAndMinHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, op := s.process("p0", 15*time.Second), s.process("op", 6*time.Second)
		s.subscribe(p0)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "take" {
				f.Again = 2 * time.Second
			}
		})
		holder := s.lock(p0, "n")
		m := op.Client.Mutex("n")
		m.MinHold = 30 * time.Second
		s.takes(op, m, s.hash(op, "n"))
		holder.over(10*time.Millisecond, holdfast.Stolen, reason)
		holder.stops()
		op.Kill()
		time.Sleep(20 * time.Second)
		if !s.locked("n") {
			t.Error("after 20 s the name is free; want it kept for half a minute")
		}
	})
}
