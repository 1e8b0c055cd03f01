package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
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

// inHolders is how many entries the holders key has.
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
		s.Atomically(func() { down = false })
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

// A lock runs once more when the holder has reduced its weight: the weight stays as it is.
func TestKeepLockArrivesWhileHeld(t *testing.T) {
	for _, kept := range []int{1, 2} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", time.Minute), s.process("p1", 15*time.Second)
			locks := 0
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Process == 0 && step.Kind == "shared_lock" {
					if locks++; locks == 1 {
						f.Again = 5 * time.Second
					}
				}
			})
			holder := s.take(p0, "n", permits(3, 5))
			holder.mustBecome(permits(kept, 5))
			time.Sleep(6 * time.Second)
			if !s.fits(p1, "n", 5-kept, 5) {
				t.Errorf("%d are kept of 5, and %d do not fit", kept, 5-kept)
			}
			holder.release()
			time.Sleep(time.Second)
			s.none("n")
		})
	}
}

// A failover, or somebody at the keys, undoes the reduction: Redis counts too much, and never too
// little, until the next renewal.
func TestKeepIsStoredAgain(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second)
		w, five := s.take(p0, "rw", write), s.take(p0, "sem", permits(5, 6))
		w.mustBecome(read)
		five.mustBecome(permits(2, 6))
		for id, score := range s.entries("rw") {
			s.enter("rw", id, score-sim.Light)
		}
		for id, score := range s.entries("sem") {
			if score < 0 {
				s.Do("ZREM", sim.KeyH("sem"), id)
			}
		}
		if s.fits(p1, "sem", 2, 6) {
			t.Error("the weight of 5 is not counted")
		}
		reader, four := s.wants(p1, "rw", read), s.wants(p1, "sem", permits(4, 6))
		s.soon("a reader", reader, 1200*time.Millisecond).release()
		s.soon("the other permits", four, 1200*time.Millisecond).release()
		w.release()
		five.release()
		time.Sleep(time.Second)
		s.none("rw")
		s.none("sem")
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

// An order by Revoke that Redis has when the part is made smaller is heard, and so is one
// that comes after it.
func TestDowngradeRevoked(t *testing.T) {
	for name, before := range map[string]bool{"before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
				holder := s.take(p0, "n", write) // it has not subscribed: it hears by a renewal
				hash := s.hashOf(op, "n", "p0")
				if before {
					if _, err := admin.Of(op.Client).Revoke(t.Context(), "n", hash, reason); err != nil {
						t.Fatal(err)
					}
					if err := holder.becomes(read); !errors.Is(err, holdfast.ErrLost) {
						t.Errorf("Downgrade: %v, want ErrLost", err)
					}
				} else {
					s.subscribe(p0)
					holder.mustBecome(read)
					if heard, err := admin.Of(op.Client).Revoke(t.Context(), "n", hash, reason); err != nil || heard != 1 {
						t.Errorf("Revoke: %d, %v; want 1, nil", heard, err)
					}
				}
				holder.over(10*time.Millisecond, holdfast.Revoked, reason)
				holder.stops()
				time.Sleep(time.Second)
				s.none("n")
			})
		})
	}
}

// The lock key alone is gone: the part becomes smaller all the same, and nobody gets more than there is.
func TestDowngradeWithoutL(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second)
		holder := s.take(p0, "n", permits(5, 5))
		lock, _, _ := sim.Keys("n")
		s.Do("DEL", lock)
		holder.mustBecome(permits(3, 5))
		if n := s.inHolders("n"); n != 2 {
			t.Errorf("%d entries in the holders key, want 2: the id and its weight", n)
		}
		if s.fits(p1, "n", 3, 5) {
			t.Error("three more fit")
		}
		if !s.fits(p1, "n", 2, 5) {
			t.Error("two more do not fit")
		}
		s.lookFor("n", 5*time.Second)
		holder.release()
	})
}

// While a slot moves the lease goes on as it is, and nothing of it is left after a release.
func TestDowngradeOnTheMove(t *testing.T) {
	for name, released := range map[string]bool{"released": true, "kept": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", time.Second), s.process("p1", 15*time.Second)
				holder := s.take(p0, "n", write)
				moving := true
				s.on(func(step sim.Step, f *sim.Fate) {
					if moving && (step.Kind == "shared_renew" || step.Kind == "shared_unlock") {
						f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
					}
				})
				if err := holder.becomes(read); !errors.Is(err, holdfast.ErrUnknown) {
					t.Errorf("Downgrade: %v, want ErrUnknown", err)
				}
				s.lookFor("n", 3*time.Second)
				if err := holder.Err(); err != nil {
					t.Errorf("the lease while the slot moves: %v", err)
				}
				if released {
					holder.release()
					if n := s.inHolders("n"); n != 0 {
						t.Errorf("%d ids in the holders key, want none", n)
					}
					s.Atomically(func() { moving = false })
				} else {
					s.Atomically(func() { moving = false })
					s.soon("a reader", s.wants(p1, "n", read), time.Second).release()
					holder.release()
				}
				time.Sleep(2 * time.Second)
				s.none("n")
			})
		})
	}
}

// With WaitReplicas it is done when enough replicas have it.
func TestDowngradeIsAcknowledged(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 3*time.Second)
		holder := s.take(p0, "n", write)
		s.Freeze(0)
		if err := holder.becomes(read); !errors.Is(err, holdfast.ErrUnknown) || !errors.Is(err, holdfast.ErrReplicas) {
			t.Errorf("Downgrade: %v, want ErrUnknown because of ErrReplicas", err)
		}
		s.Thaw(0)
		holder.mustBecome(read)
		holder.release()
	})
}
