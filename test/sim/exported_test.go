package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// renewExported wants the hold to be prolonged, and never to seem longer than it is.
func (s stage) renewExported(l *sim.Link, text string) *holdfast.ExportedHold {
	s.t.Helper()
	got, err := l.Client.RenewExported(s.t.Context(), text)
	if err != nil {
		s.t.Fatalf("RenewExported: %v\n%s", err, s.History(200))
	}
	s.notLonger(got)
	return got
}

// notLonger wants the holder's own deadline before the end of the lock key.
func (s stage) notLonger(got *holdfast.ExportedHold) {
	s.t.Helper()
	lock, _, _ := sim.Keys(got.Name)
	left, _ := s.Do("PTTL", lock).(int64)
	if got.Remaining <= 0 || got.Remaining >= time.Duration(left)*time.Millisecond {
		s.t.Errorf("Remaining is %v while the lock key lives for %d ms", got.Remaining, left)
	}
}

// exportedLost wants all three to say so.
func (s stage) exportedLost(l *sim.Link, text string, cause holdfast.Cause, reason string) {
	s.t.Helper()
	_, renewed := l.Client.RenewExported(s.t.Context(), text)
	_, checked := l.Client.CheckExported(s.t.Context(), text)
	for what, err := range map[string]error{"RenewExported": renewed, "CheckExported": checked} {
		s.lostBy(what, err, cause, reason)
	}
}

func (s stage) lostBy(what string, err error, cause holdfast.Cause, reason string) {
	s.t.Helper()
	var lost *holdfast.LostError
	if !errors.As(err, &lost) || lost.Cause != cause || lost.Reason != reason {
		s.t.Errorf("%s: %v; want lost: %s: %s", what, err, cause, reason)
	}
}

// A hold that was exported is kept by hand, from any process, for as long as it is
// renewed. Then the next waiter gets the name, and a late renewal or release returns that the hold is over.
func TestExportedIsKept(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 6*time.Second), s.process("p1", 20*time.Second), s.process("p2", 15*time.Second)
		holder := s.lock(p0, "n")
		token := holder.Token()
		next := s.waits(p2, "n")
		text := holder.export()
		if err := p0.Client.Close(); err != nil {
			t.Error(err)
		}
		for range 20 {
			time.Sleep(4 * time.Second)
			got := s.renewExported(p1, text)
			if got.Token != token || got.TTL != 6*time.Second || got.Waiting != 1 || got.Owner != "p0" || got.Name != "n" || got.Hash != s.hash(p1, "n") {
				t.Fatalf("got %+v; want token %d, ttl 6s, one waiter, and who exported it", got, token)
			}
		}
		s.notBefore("the next", next, time.Millisecond)
		if err := p1.Client.ReleaseExported(t.Context(), text); err != nil {
			t.Errorf("ReleaseExported: %v", err)
		}
		got := s.soon("the next", next, 20*time.Millisecond)
		s.exportedLost(p1, text, holdfast.Taken, "")
		s.lostBy("ReleaseExported", p1.Client.ReleaseExported(t.Context(), text), holdfast.Taken, "")
		time.Sleep(20 * time.Second)
		got.release()
		s.exportedLost(p1, text, holdfast.Gone, "")
		s.nothingLeft("n")
	})
}

// CheckExported changes nothing: what nobody renews ends.
func TestExportedIsChecked(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second)
		text := s.lock(p0, "n").export()
		for range 5 {
			time.Sleep(time.Second)
			got, err := p1.Client.CheckExported(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			s.notLonger(got)
		}
		time.Sleep(960 * time.Millisecond) // a hundredth of what is left is margin
		if _, err := p1.Client.CheckExported(t.Context(), text); err != nil && !errors.Is(err, holdfast.ErrLost) {
			t.Error(err)
		}
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
		s.exportedLost(p1, text, holdfast.Gone, "")
	})
}

// What was revoked or stolen is over for who has the text, and is not prolonged
// however often it is asked.
func TestExportedIsRevoked(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second), s.process("op", 6*time.Second)
		text := s.lock(p0, "n").export()
		next := s.waits(p1, "n")
		s.renewExported(op, text)
		s.revoke(op, "n", reason)
		for range 5 {
			time.Sleep(time.Second)
			s.exportedLost(op, text, holdfast.Revoked, reason)
		}
		got := s.soon("the next", next, 1100*time.Millisecond)
		got.release()

		text = s.lock(p0, "n").export()
		next = s.waits(p1, "n")
		s.revoke(op, "n", reason)
		s.lostBy("ReleaseExported", op.Client.ReleaseExported(t.Context(), text), holdfast.Revoked, reason)
		s.soon("the next, when it was released", next, 20*time.Millisecond).release()

		text = s.lock(p0, "n").export()
		s.steal(op, "n", reason)
		s.exportedLost(op, text, holdfast.Stolen, reason)
		s.lostBy("ReleaseExported", op.Client.ReleaseExported(t.Context(), text), holdfast.Stolen, reason)
	})
}

// What another process has adopted can't be renewed or released by its text, also
// when the lock key is a stale id of it.
func TestExportedThatWasAdopted(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second), s.process("p2", 3*time.Second)
		s.locksAgain(2 * time.Second)
		text := s.lock(p0, "n").export()
		got := s.adopt(p1, "n", text)
		s.exportedLost(p2, text, holdfast.Taken, "")
		s.lostBy("ReleaseExported", p2.Client.ReleaseExported(t.Context(), text), holdfast.Taken, "")
		got.release()
		time.Sleep(2100 * time.Millisecond)
		s.wantStaleID("n")
		_, fence, _ := sim.Keys("n")
		s.Do("DEL", fence) // so that it tells nothing
		s.exportedLost(p2, text, holdfast.Gone, "")
	})
}

// A stale id of an exported id, after somebody else had the name, is no hold: its
// token is too low.
func TestExportedStaleID(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.locksAgain(4 * time.Second)
		text := s.lock(p0, "n").export()
		time.Sleep(3100 * time.Millisecond)
		s.lock(p1, "n").release()
		time.Sleep(time.Second)
		s.wantStaleID("n")
		s.exportedLost(p1, text, holdfast.Gone, "")
	})
}

// A renewal that is answered late says how much is left then.
func TestExportedRenewalIsLate(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second)
		text := s.lock(p0, "n").export()
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "exported" {
				f.Back = 1500 * time.Millisecond
			}
		})
		for range 3 {
			if got := s.renewExported(p1, text); got.Remaining > 4500*time.Millisecond {
				t.Errorf("Remaining is %v of 6s, 1.5s after it was asked for", got.Remaining)
			}
		}
	})
}

// A renewal that is lost is sent again; one that runs twice, or late, changes nothing
// that matters.
func TestExportedRenewalIsLost(t *testing.T) {
	for _, fate := range []sim.Fate{{LoseBack: true}, {LoseOut: true}, {Twice: true}, {Again: 5 * time.Second}} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
			text := s.lock(p0, "n").export()
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "exported" && step.N == 0 {
					*f = fate
				}
			})
			time.Sleep(time.Second)
			if got := s.renewExported(p1, text); got.Remaining < 14*time.Second {
				t.Errorf("Remaining is %v of 15s: it counts from a request that was not answered", got.Remaining)
			}
			if err := p1.Client.ReleaseExported(t.Context(), text); err != nil {
				t.Error(err)
			}
			next := s.lock(p2, "n")
			time.Sleep(6 * time.Second)
			next.release()
			time.Sleep(100 * time.Millisecond)
			s.nothingLeft("n")
		})
	}
}

// ReleaseExported, whose messages are lost or doubled, releases once and says so; a
// second call says that it is over.
func TestExportedIsReleasedOnce(t *testing.T) {
	for _, fate := range []sim.Fate{{LoseBack: true}, {LoseOut: true}, {Twice: true}, {Again: 3 * time.Second}} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
			text := s.lock(p0, "n").export()
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "unlock" && step.Process == 1 && step.N == 0 {
					*f = fate
				}
			})
			if err := p1.Client.ReleaseExported(t.Context(), text); err != nil {
				t.Errorf("ReleaseExported: %v", err)
			}
			next := s.lock(p2, "n")
			s.lostBy("a second ReleaseExported", p1.Client.ReleaseExported(t.Context(), text), holdfast.Taken, "")
			time.Sleep(4 * time.Second)
			next.release()
			s.lostBy("a third", p1.Client.ReleaseExported(t.Context(), text), holdfast.Gone, "")
		})
	}
}

// The fence of a hold that is renewed by hand outlives a day.
func TestExportedKeepsTheFence(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 24*time.Hour), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		text := holder.export()
		for range 4 {
			time.Sleep(8 * time.Hour)
			s.renewExported(p1, text)
		}
		_, fence, _ := sim.Keys("n")
		if left, _ := s.Do("PTTL", fence).(int64); left < (24 * time.Hour).Milliseconds() {
			t.Errorf("the fence key lives for %d ms more; want a day", left)
		}
		if err := p1.Client.ReleaseExported(t.Context(), text); err != nil {
			t.Error(err)
		}
		if next := s.lock(p1, "n"); next.Token() <= holder.Token() {
			t.Errorf("token %d after %d", next.Token(), holder.Token())
		} else {
			next.release()
		}
	})
}

// With WaitReplicas a renewal counts when the replicas have it.
func TestExportedIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(1)
		options := holdfast.Options{TTL: 5 * time.Second, WaitReplicas: 1}
		p0 := s.Process("p0", options, 1)
		text := s.lock(p0, "n").export()
		s.renewExported(p0, text)
		s.Freeze(0)
		if got, err := p0.Client.RenewExported(t.Context(), text); !errors.Is(err, holdfast.ErrReplicas) {
			t.Errorf("with a frozen replica: %+v, %v; want ErrReplicas", got, err)
		}
	})
}

// Somebody adopts or steals it between the look of ReleaseExported and its unlock: it was
// not released, and goes on or is another's.
func TestExportedIsOvertaken(t *testing.T) {
	for _, cause := range []holdfast.Cause{holdfast.Taken, holdfast.Stolen} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
			text := s.lock(p0, "n").export()
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "unlock" && step.Process == 1 {
					f.Out = 100 * time.Millisecond
				}
			})
			got := make(chan error, 1)
			go func() { got <- p1.Client.ReleaseExported(t.Context(), text) }()
			time.Sleep(50 * time.Millisecond)
			var next hold
			reason := ""
			if cause == holdfast.Taken {
				next = s.adopt(p2, "n", text)
			} else {
				reason = "stuck"
				s.steal(p2, "n", reason)
				next = s.lock(p2, "n")
			}
			s.lostBy("ReleaseExported", <-got, cause, reason)
			next.release()
		})
	}
}

// What was stolen and is another kind's by now is told as stolen.
func TestExportedIsStolenByAnotherKind(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		text := s.lock(p0, "n").export()
		s.steal(p1, "n", "why")
		lease, err := p1.Client.RWMutex("n").RLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.exportedLost(p1, text, holdfast.Stolen, "why")
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}
