package sim_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// Rule 7: a connection that gives no sign of life for ten seconds is broken.
func TestSilentSubscriptionIsBroken(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		p1.Deafen()
		time.Sleep(11 * time.Second)
		holder.release()
		s.soon("the waiter", next, 300*time.Millisecond).release()
	})
}

// Rule 9: while a slot moves, leases are kept and released by the lock key alone.
func TestSlotOnTheMove(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		moving := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if moving && (step.Kind == "lock" || step.Kind == "unlock" || step.Kind == "renew" || step.Kind == "cancel") {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		p0, p1 := s.process("p0", time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		s.Guard(func() { moving = true })
		time.Sleep(10 * time.Second)
		if err := holder.Err(); err != nil {
			t.Fatalf("the lease says %v; want it kept", err)
		}
		holder.release()
		if lock, _ := s.left("n"); lock {
			t.Error("the lock key is left after the release")
		}
		time.Sleep(300 * time.Millisecond)
		s.Guard(func() { moving = false })
		s.soon("the waiter", next, 2*time.Second).release()
		time.Sleep(time.Second)
		s.nothingLeft("n")
	})
}

// Rule 9: while a slot moves, a lock is tried again, and the caller sees only
// that it takes longer.
func TestLockWhileASlotMoves(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		began := time.Now()
		s.on(func(step sim.Step, f *sim.Fate) {
			if time.Since(began) < 500*time.Millisecond && step.Kind == "lock" {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
				if step.N%2 == 1 {
					f.Refuse = "CLUSTERDOWN The cluster is down"
				}
			}
		})
		s.lock(s.process("p0", 15*time.Second), "n").release()
	})
}
