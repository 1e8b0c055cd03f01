package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

var termKey = "holdfast/term:{" + sim.Prefix + "n}"

func (h hold) proclaims(value string) {
	h.s.t.Helper()
	if err := h.Proclaim(h.s.t.Context(), value); err != nil {
		h.s.t.Fatalf("Proclaim %s: %v\n%s", value, err, h.s.History(200))
	}
}

// ledBy wants Leader to name a term and its value.
func (s stage) ledBy(l *sim.Link, value string, term int64) {
	s.t.Helper()
	leader, err := l.Client.Election("n").Leader(s.t.Context())
	if err != nil || leader.Value != value || leader.Term != term {
		s.t.Errorf("Leader = %+v, %v; want %q with term %d", leader, err, value, term)
	}
}

// A leader changes its value while it leads. Observers are told of each at once, once, in
// order; others who look see it; the next term has its own.
func TestProclaim(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p0, p1)
		d := s.observes(p2)
		defer d.stop()
		a := s.leads(p0, "a")
		want := []string{"none", "a"}
		for _, value := range []string{"a2", "a3", "a3", "a4"} {
			a.proclaims(value)
			if want[len(want)-1] != value { // the same value is no news
				want = append(want, value)
			}
			d.wantsWithin(s, 10*time.Millisecond, want...)
			s.ledBy(p1, value, a.Token())
		}
		if state, err := admin.Of(p1.Client).Inspect(t.Context(), "n"); err != nil || state.Holder.Owner != "a4" || state.Term != a.Token() {
			t.Errorf("Inspect = %+v, %v; want a4", state, err)
		}
		time.Sleep(6 * time.Minute) // it is announced again
		s.ledBy(p1, "a4", a.Token())
		next := s.campaigns(p1, "b")
		a.release()
		b := s.soon("b", next, time.Second)
		d.wantsWithin(s, 10*time.Millisecond, append(want, "b")...)
		s.ledBy(p0, "b", b.Token())
		b.proclaims("")
		d.wantsWithin(s, 10*time.Millisecond, append(want, "b", "p1")...)
		b.release()
		d.wantsWithin(s, 10*time.Millisecond, append(want, "b", "p1", "none")...)
		if exists := s.Do("EXISTS", termKey); exists != int64(0) {
			t.Errorf("T is left behind: EXISTS = %v", exists)
		}
	})
}

// What can't be proclaimed is refused, and changes nothing.
func TestProclaimRefuses(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		a := s.leads(p0, "a")
		if err := a.Proclaim(t.Context(), "half | an address"); !errors.Is(err, holdfast.ErrValue) {
			t.Errorf("a bad value: %v; want ErrValue", err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := a.Proclaim(ended, "b"); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended context: %v", err)
		}
		s.ledBy(p0, "a", a.Token())
		a.release()
		if err := a.Proclaim(t.Context(), "b"); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("after Release: %v; want ErrReleased", err)
		}
		m := s.lock(p0, "n")
		if err := m.Proclaim(t.Context(), "b"); err == nil || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("a Mutex: %v; want that it is for elections", err)
		}
		m.release()
	})
}

// The script of an older value runs once more after that of a newer one, and changes nothing.
func TestLateProclaim(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "election_announce" && step.N <= 1 {
				f.Again = 2 * time.Second
			}
		})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		a := s.leads(p0, "a")
		d := s.observes(p1)
		defer d.stop()
		a.proclaims("b")
		time.Sleep(50 * time.Millisecond)
		a.proclaims("c")
		time.Sleep(3 * time.Second)
		d.wants(s, "a", "b", "c")
		s.ledBy(p1, "c", a.Token())
		a.release()
	})
}

// T is lost, as in a failover, and an older value is noted after that: an observer that has
// seen the newer is not told the older. The next announcement brings the newer back.
func TestProclaimAfterALoss(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "election_announce" && step.N == 1 {
				f.Again = 2 * time.Second
			}
		})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		a := s.leads(p0, "a")
		d := s.observes(p1)
		defer d.stop()
		a.proclaims("b")
		time.Sleep(50 * time.Millisecond)
		a.proclaims("c")
		time.Sleep(100 * time.Millisecond)
		s.Do("DEL", termKey)
		time.Sleep(30 * time.Second)
		d.wants(s, "a", "b", "c")
		s.ledBy(p1, "b", a.Token())
		time.Sleep(5 * time.Minute)
		s.ledBy(p1, "c", a.Token())
		d.wants(s, "a", "b", "c")
		a.release()
	})
}

// The name was taken away: Proclaim says so at once, notes nothing, and the lease is over.
func TestProclaimIsLost(t *testing.T) {
	for _, now := range []string{"", "another"} {
		t.Run(now, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				a := s.leads(p0, "a")
				lock, _, _ := sim.Keys("n")
				s.Watch.Leaves(a.held)
				s.Do("DEL", termKey)
				if s.Do("DEL", lock); now != "" {
					s.Do("SET", lock, now, "PX", "60000")
				}
				if err := a.Proclaim(t.Context(), "b"); !errors.Is(err, holdfast.ErrLost) {
					t.Errorf("Proclaim: %v; want ErrLost", err)
				}
				if a.Err() == nil {
					t.Error("the lease is not over")
				}
				if exists := s.Do("EXISTS", termKey); exists != int64(0) {
					t.Error("a value was noted though nobody led")
				}
				_ = a.Release()
			})
		})
	}
}

// A term goes on in the next process: with its newest value and a higher token, and at no
// moment does anybody see that nobody leads. Candidates keep their places.
func TestAdoptATerm(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 6*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p0, p2)
		d := s.observes(p2)
		defer d.stop()
		a := s.leads(p0, "a")
		own := s.campaigns(p0, "own")
		other := s.campaigns(p2, "other")
		a.proclaims("b")
		stop := s.neverFree("n")
		defer stop()
		text := a.export()
		a.over(10*time.Millisecond, holdfast.Exported, "")
		if err := a.Proclaim(t.Context(), "c"); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Proclaim after Export: %v; want ErrLost", err)
		}
		if err := a.Release(); err != nil {
			t.Errorf("Release after Export: %v", err)
		}
		time.Sleep(10 * time.Second)
		s.ledBy(p2, "b", a.Token())
		d.wants(s, "none", "a", "b")
		got := s.adopt(p1, "n", text)
		if got.Token() <= a.Token() {
			t.Errorf("the adopter has token %d after %d", got.Token(), a.Token())
		}
		lock, _, _ := sim.Keys("n")
		if id, _ := s.Do("GET", lock).(string); !strings.HasSuffix(id, "|b") {
			t.Errorf("the lock key is %q; want an id with the value b", id)
		}
		d.wantsWithin(s, 10*time.Millisecond, "none", "a", "b", "b")
		s.ledBy(p2, "b", got.Token())
		s.adoptionLost(p2, text, holdfast.Taken)
		got.proclaims("c")
		d.wantsWithin(s, 10*time.Millisecond, "none", "a", "b", "b", "c")
		time.Sleep(time.Minute)
		stop()
		got.release()
		for _, next := range []<-chan hold{own, other} {
			h := s.soon("the next", next, 100*time.Millisecond)
			time.Sleep(50 * time.Millisecond) // what is shorter may be missed
			h.release()
		}
		d.wantsWithin(s, time.Second, "none", "a", "b", "b", "c", "own", "other", "none")
		time.Sleep(50 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// A term that was exported before it proclaimed anything has the value it campaigned with;
// one that is released by its text is announced as a resignation is.
func TestReleasedTermIsAnnounced(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		d := s.observes(p2)
		defer d.stop()
		got := s.adopt(p1, "n", s.leads(p0, "a").export())
		d.wantsWithin(s, 10*time.Millisecond, "none", "a", "a")
		time.Sleep(6 * time.Minute) // the exporter announces nothing any more
		s.ledBy(p2, "a", got.Token())
		text := got.export()
		time.Sleep(3 * time.Second)
		if err := p1.Client.ReleaseExported(t.Context(), text); err != nil {
			t.Fatalf("ReleaseExported: %v", err)
		}
		d.wantsWithin(s, 10*time.Millisecond, "none", "a", "a", "none")
		if exists := s.Do("EXISTS", termKey); exists != int64(0) {
			t.Errorf("T is left behind: EXISTS = %v", exists)
		}
	})
}
