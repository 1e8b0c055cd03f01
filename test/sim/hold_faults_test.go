package sim_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// MinHold again, with a network that loses, doubles and delays,
// and processes that stop.

// of the lock key to the ttl.
func TestMinHoldLateLock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "lock" {
				f.Again = 10 * time.Second
			}
		})
		first := s.keeps(p0, "n", time.Minute)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "n"), first.held.Got, time.Minute).release()
	})
}

// keeps it, and nobody waits in the queue who does not wait.
func TestMinHoldDoubledRelease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "cooldown" {
				f.Twice, f.Again = true, 25*time.Second
			}
		})
		first := s.keeps(p0, "n", 20*time.Second)
		next := s.waits(p1, "n")
		own := s.waits(p0, "n")
		first.release()
		second := s.afterCooldown(next, first.held.Got, 20*time.Second)
		second.release()
		s.soon("the own caller", own, time.Second).release()
		third := s.lock(p1, "n")
		s.lookFor("n", 10*time.Second)
		if _, waiters := s.left("n"); waiters != 0 {
			t.Errorf("%d wait; want none", waiters)
		}
		third.release()
	})
}

// A slot moves: what falls back to the lock key alone keeps the MinHold.
func TestMinHoldWhileASlotMoves(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.subscribe(p1)
		moves := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if moves && step.Process == 0 && (step.Kind == "renew" || step.Kind == "cooldown") {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		first := s.keeps(p0, "n", 20*time.Second)
		began := first.held.Got
		time.Sleep(5 * time.Second)
		first.release()
		s.Guard(func() { moves = false })
		s.afterCooldown(s.waits(p1, "n"), began, 20*time.Second).release()
		time.Sleep(10 * time.Second)
		s.nothingLeft("n")

		s.Guard(func() { moves = true })
		again := s.keeps(p0, "n", 20*time.Second)
		time.Sleep(5 * time.Second)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "n"), again.held.Got, 20*time.Second).release()
	})
}

// The lock key was deleted: the release that finds nothing to cool down hands the queue over.
func TestMinHoldDeleted(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		first := s.keeps(p0, "n", time.Minute)
		next := s.waits(p1, "n")
		time.Sleep(10 * time.Millisecond)
		s.Evict("n")
		first.release()
		s.soon("the next", next, 100*time.Millisecond).release()
	})
}

// A renewal from before the time was prolonged comes late: it does not cut that.
func TestMinHoldLateShortRenewal(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		first := s.keeps(p0, "n", 10*time.Second)
		began := first.held.Got
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && time.Since(began) < 2*time.Second {
				f.Again = 3 * time.Second
			}
		})
		time.Sleep(2 * time.Second)
		mutex := p0.Client.Mutex("n")
		mutex.Reentrant, mutex.MinHold = true, time.Minute
		if _, err := mutex.Lock(first.Context(t.Context())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "n"), began, time.Minute).release()
	})
}
