package sim_test

import (
	"errors"
	"strconv"
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

// lateWriter waits for a writer, becomes one, and then a reader. Its second lock, which it sent
// while it waited, arrives 600 ms late. renewal has the fate of its renewals; locks counts the locks.
func (s stage) lateWriter(renewal func(f *sim.Fate)) (holder hold, locks *int) {
	s.t.Helper()
	p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
	s.subscribe(p0)
	first := s.take(p1, "n", write)
	locks = new(int)
	s.on(func(step sim.Step, f *sim.Fate) {
		switch {
		case step.Process != 0:
		case step.Kind == "shared_lock":
			if *locks++; *locks == 2 { // it asks again after 667 ms
				f.Out = 600 * time.Millisecond
			}
		case step.Kind == "shared_renew":
			renewal(f)
		}
	})
	got := s.wants(p0, "n", write)
	time.Sleep(time.Second)
	first.release()
	holder = s.soon("the writer", got, 10*time.Millisecond)
	holder.mustBecome(read)
	return holder, locks
}

// A lock of the former id runs late: it makes a writer in the queue, for whom readers would wait. It
// is cancelled when its answer comes; if that comes in doubt, when nobody doubts any more.
func TestDowngradeLateLock(t *testing.T) {
	for name, doubt := range map[string]time.Duration{"known": 0, "in doubt": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				renewals := 0
				holder, locks := s.lateWriter(func(f *sim.Fate) {
					if renewals++; renewals == 1 {
						f.Back = doubt
					}
				})
				time.Sleep(600 * time.Millisecond)
				if *locks != 2 {
					t.Errorf("%d locks, want 2", *locks)
				}
				r := s.soon("a reader", s.wants(s.process("p2", 15*time.Second), "n", read), 30*time.Millisecond)
				r.release()
				holder.release()
				time.Sleep(time.Second)
				s.none("n")
			})
		})
	}
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
					if _, err := admin.Of(op.Client).Revoke(t.Context(), "n", hash, reason); !errors.Is(err, holdfast.ErrTenure) {
						t.Errorf("Revoke by the former hash: %v, want ErrTenure", err)
					}
					if heard, err := admin.Of(op.Client).Revoke(t.Context(), "n", s.hashOf(op, "n", "p0"), reason); err != nil || heard != 1 {
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
		if n := s.inHolders("n"); n != 1 {
			t.Errorf("%d ids in the holders key, want 1", n)
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

// While Redis has not replaced the former id yet, CheckHeld finds that one.
func TestDowngradeCheckedUnverified(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.take(p0, "n", write)
		down := true
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = down && step.Kind == "shared_renew"
		})
		if err := holder.becomes(read); !errors.Is(err, holdfast.ErrUnknown) {
			t.Errorf("Downgrade: %v, want ErrUnknown", err)
		}
		if left, err := holder.CheckHeld(t.Context()); err != nil || left <= 0 {
			t.Errorf("CheckHeld: %v, %v; want the time that is left", left, err)
		}
		s.Atomically(func() { down = false })
		holder.mustBecome(read)
		holder.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// leftover takes 5 of 10 and keeps 2; the lock runs once more behind that, so that the 5 stand in
// the holders key, too. The next renewal is seconds away.
func leftover(t *testing.T, s stage, p *sim.Link) hold {
	t.Helper()
	s.onFirstLock(func(f *sim.Fate) { f.Again = 300 * time.Millisecond })
	holder := s.take(p, "n", permits(5, 10))
	holder.mustBecome(permits(2, 10))
	time.Sleep(500 * time.Millisecond)
	if n := s.inHolders("n"); n != 2 {
		t.Fatalf("%d in the holders key, want 2: the part and the leftover", n)
	}
	return holder
}

func (s stage) onFirstLock(do func(f *sim.Fate)) {
	locks := 0
	s.on(func(step sim.Step, f *sim.Fate) {
		if step.Process == 0 && step.Kind == "shared_lock" {
			if locks++; locks == 1 {
				do(f)
			}
		}
	})
}

// allFree wants that another Client has all permits at once, and that nothing stays.
func (s stage) allFree(p *sim.Link) {
	time.Sleep(time.Second)
	s.soon("all that there is", s.wants(p, "n", permits(10, 10)), 100*time.Millisecond).release()
	s.none("n")
}

// A late lock of a former id leaves nothing behind a Release or a Close.
func TestKeepLeftoverGivenBack(t *testing.T) {
	ways := map[string]func(l *sim.Link, h hold){
		"Release": func(_ *sim.Link, h hold) { h.release() },
		"Close":   func(l *sim.Link, _ hold) { _ = l.Client.Close() },
	}
	for how, giveBack := range ways {
		t.Run(how, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
				giveBack(p0, leftover(t, s, p0))
				s.allFree(p1)
			})
		})
		t.Run(how+" of a lock that was not answered", func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", time.Minute), s.process("p1", 15*time.Second)
				s.onFirstLock(func(f *sim.Fate) { f.Out = 6 * time.Second })
				holder := s.take(p0, "n", permits(5, 10))
				holder.mustBecome(permits(2, 10))
				time.Sleep(6 * time.Second)
				giveBack(p0, holder)
				time.Sleep(2 * time.Second)
				s.allFree(p1)
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

// A failover may bring the former id of a part back that was made smaller. Then it is the
// part itself, and the Client must not take it for a leftover.

// A former id stands in the queue, wherever: the next renewal takes it out.
func TestDowngradeClearsQ(t *testing.T) {
	for name, test := range map[string]struct {
		score    float64
		deletesL bool
	}{"in front": {score: 1}, "behind": {score: 1 << 52}, "without L": {1, true}} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second)
				s.subscribe(p0)
				holder := s.take(p0, "n", write)
				next := s.wants(p1, "n", write)
				time.Sleep(time.Millisecond)
				lock, _, queue := sim.Keys("n")
				for former := range s.entries("n") {
					holder.mustBecome(read)
					s.Do("ZADD", queue, strconv.FormatFloat(test.score, 'f', 0, 64), former)
				}
				if test.deletesL {
					s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Process == 1 }) // or it makes the lock key again
					s.Do("DEL", lock)
				}
				time.Sleep(1200 * time.Millisecond)
				if n := s.Do("ZCARD", queue); n != int64(1) {
					t.Errorf("%v wait, want 1", n)
				}
				s.on(func(sim.Step, *sim.Fate) {})
				holder.release()
				s.soon("a writer", next, 5*time.Second).release()
			})
		})
	}
}

// A reader finds a former id in front of it and tells its Client, which takes it out. Then the reader
// comes in.
func TestDowngradeStaleIDInFront(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0)
		holder := s.take(p0, "n", write)
		_, _, queue := sim.Keys("n")
		for former := range s.entries("n") {
			holder.mustBecome(read)
			s.Do("ZADD", queue, "1", former)
		}
		s.soon("a reader", s.wants(p1, "n", read), 20*time.Millisecond).release()
		holder.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}
