package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

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
					s.Guard(func() { moving = false })
				} else {
					s.Guard(func() { moving = false })
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
		s.Guard(func() { down = false })
		holder.mustBecome(read)
		holder.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}
