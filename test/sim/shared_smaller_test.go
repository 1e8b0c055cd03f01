package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A holder of a shared kind can make its part smaller; see docs/shared.md.

// becomes makes the part of a holder smaller.
func (h hold) becomes(p sim.Part) error {
	h.s.Watch.Smaller(h.held, p)
	if p.Size > 0 {
		return h.Keep(p.N)
	}
	return h.Downgrade()
}

func (h hold) mustBecome(p sim.Part) {
	h.s.t.Helper()
	if err := h.becomes(p); err != nil {
		h.s.t.Errorf("a smaller part: %v", err)
	}
}

// inHolders is how many ids stand in the holders key.
func (s stage) inHolders(name string) int { return len(s.entries(name)) }

// A writer becomes a reader: the readers that wait come in at once, and the writer behind
// them does not. The lease lives on, with its token.
func TestDowngrade(t *testing.T) { play(t, downgrade) }

func downgrade(t *testing.T, s stage) {
	p0, p1, p2 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
	holder := s.take(p0, "n", write)
	first, second := s.wants(p1, "n", read), s.wants(p2, "n", read)
	next := s.wants(p2, "n", write)
	token, ctx := holder.Token(), holder.Context(t.Context())
	holder.mustBecome(read)
	a := s.soon("a reader", first, 10*time.Millisecond)
	b := s.soon("another", second, 10*time.Millisecond)
	if n := s.inHolders("n"); n != 3 {
		t.Errorf("%d ids in the holders key, want 3", n)
	}
	s.notBefore("a writer", next, 10*time.Second)
	if err := ctx.Err(); err != nil || holder.Err() != nil || holder.Token() != token {
		t.Errorf("the lease: %v, %v, token %d; want token %d", err, holder.Err(), holder.Token(), token)
	}
	if a.Token() <= token || b.Token() <= token {
		t.Errorf("tokens %d and %d after %d", a.Token(), b.Token(), token)
	}
	holder.mustBecome(read) // again: nothing happens
	a.release()
	b.release()
	s.notBefore("a writer", next, time.Second)
	holder.release()
	w := s.soon("a writer", next, 10*time.Millisecond)
	if w.Token() <= b.Token() {
		t.Errorf("token %d after %d", w.Token(), b.Token())
	}
	w.release()
	time.Sleep(time.Second)
	s.none("n")
}

// Permits are given back bit by bit, down to one, and callers that fit get them at once.
func TestKeep(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		holder := s.take(p0, "n", permits(5, 5))
		two, three := s.wants(p1, "n", permits(2, 5)), s.wants(p2, "n", permits(2, 5))
		holder.mustBecome(permits(4, 5))
		s.notBefore("two permits", two, 50*time.Millisecond)
		holder.mustBecome(permits(3, 5))
		a := s.soon("two permits", two, 10*time.Millisecond)
		s.notBefore("two more", three, 5*time.Second)
		holder.mustBecome(permits(1, 5))
		b := s.soon("two more", three, 10*time.Millisecond)
		s.lookFor("n", 5*time.Second)
		if s.fits(p2, "n", 1, 5) {
			t.Error("a sixth permit")
		}
		holder.release()
		a.release()
		b.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// What can't be made smaller is told, and nothing happens.
func TestKeepOfOtherLeases(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p := s.process("p", 3*time.Second)
		mutex, sem, rw := s.lock(p, "m"), s.take(p, "s", permits(2, 3)), s.take(p, "r", write)
		for name, err := range map[string]error{
			"Downgrade of a mutex": mutex.Downgrade(), "Keep of a mutex": mutex.Keep(1),
			"Downgrade of permits": sem.Downgrade(), "Keep of a writer": rw.Keep(1),
		} {
			if err == nil {
				t.Errorf("%s: nil, want an error", name)
			}
		}
		if err := sem.Keep(0); !errors.Is(err, holdfast.ErrSize) {
			t.Errorf("Keep(0): %v, want ErrSize", err)
		}
		for _, n := range []int{2, 7} {
			if err := sem.Keep(n); err != nil {
				t.Errorf("Keep(%d) of 2: %v", n, err)
			}
		}
		if !s.fits(p, "s", 1, 3) {
			t.Error("Keep(7) has made the part larger")
		}
		for _, h := range []hold{mutex, sem, rw} {
			h.release()
		}
		if err := rw.Downgrade(); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("Downgrade after Release: %v, want ErrReleased", err)
		}
	})
}

// The request is lost, again and again: the call returns ErrUnknown, the lease goes on, and
// the first renewal that arrives does it.
func TestDowngradeUnanswered(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.take(p0, "n", write)
		next := s.wants(p1, "n", read)
		down := true
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = down && step.Process == 0 && step.Kind == "shared_renew"
		})
		if err := holder.becomes(read); !errors.Is(err, holdfast.ErrUnknown) {
			t.Errorf("Downgrade: %v, want ErrUnknown", err)
		}
		s.notBefore("a reader", next, 5*time.Second)
		s.Guard(func() { down = false })
		r := s.soon("a reader", next, 5*time.Second)
		s.lookFor("n", 6*time.Second)
		holder.mustBecome(read)
		holder.release()
		r.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// A release in doubt leaves nothing, whether it was done, or comes later, or never.
func TestDowngradeReleasedUnverified(t *testing.T) {
	for name, fate := range map[string]sim.Fate{
		"done":  {LoseBack: true},
		"later": {LoseOut: true, Again: 4 * time.Second},
		"never": {LoseOut: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
				holder := s.take(p0, "n", write)
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Process == 0 && step.Kind == "shared_renew" {
						*f = fate
					}
				})
				if err := holder.becomes(read); !errors.Is(err, holdfast.ErrUnknown) {
					t.Errorf("Downgrade: %v, want ErrUnknown", err)
				}
				holder.release()
				s.none("n")
				time.Sleep(5 * time.Second)
				s.none("n")
				s.soon("a writer", s.wants(p1, "n", write), 10*time.Millisecond).release()
			})
		})
	}
}

// While the lease lasts that lock would take permits that nobody has.
func TestKeepLockArrivesWhileHeld(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Minute), s.process("p1", 15*time.Second)
		locks, renewed := 0, time.Time{}
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Process != 0:
			case step.Kind == "shared_lock":
				if locks++; locks == 1 {
					f.Out = 15 * time.Second
				}
			case step.Kind == "shared_renew":
				renewed = time.Now()
			}
		})
		holder := s.take(p0, "n", permits(3, 5))
		holder.mustBecome(permits(1, 5))
		time.Sleep(16 * time.Second)
		four := s.soon("the other permits", s.wants(p1, "n", permits(4, 5)), 5*time.Second)
		if d := time.Since(renewed); d > 5*time.Millisecond {
			t.Errorf("they came %v after the renewal", d)
		}
		four.release()
		time.Sleep(time.Second)
		if n := s.inHolders("n"); n != 1 || locks != 2 {
			t.Errorf("%d ids in the holders key after %d locks, want 1 after 2", n, locks)
		}
		holder.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// A Client that is closed in doubt leaves nothing either.
func TestDowngradeClosedUnverified(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.take(p0, "n", write)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "shared_renew" })
		if err := holder.becomes(read); !errors.Is(err, holdfast.ErrUnknown) {
			t.Errorf("Downgrade: %v, want ErrUnknown", err)
		}
		s.Watch.Leaves(holder.held)
		_ = p0.Client.Close() // it says that a renewal is under way
		s.none("n")
	})
}
