package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
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

// The same of a renewal by the ttl alone, from before anybody asked for more.
func TestMinHoldLateRenewal(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "renew" && len(step.Args) < 3 {
				f.Again = 20 * time.Second
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		go func() {
			defer close(started)
			lease, err := p0.Client.Mutex("n").Lock(ctx)
			if err == nil {
				time.Sleep(8 * time.Second)
				_ = lease.Release()
			}
		}()
		time.Sleep(time.Second)
		first := s.keeps(p0, "n", time.Minute)
		<-started
		cancel()
		time.Sleep(time.Second)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "n"), first.held.Got, time.Minute).release()
	})
}

// and not longer for being told twice.
func TestMinHoldLostAnswer(t *testing.T) {
	for _, lose := range []func(f *sim.Fate){
		func(f *sim.Fate) { f.LoseBack = true },
		func(f *sim.Fate) { f.LoseOut = true },
	} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			s.subscribe(p0, p1)
			began := time.Now()
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "cooldown" && time.Since(began) < 10*time.Second {
					lose(f)
				}
			})
			first := s.keeps(p0, "n", 20*time.Second)
			own := s.waits(p0, "n")
			next := s.waits(p1, "n")
			s.Watch.Leaves(first.held)
			if err := first.Release(); !errors.Is(err, holdfast.ErrUnknown) {
				t.Errorf("Release = %v; want ErrUnknown", err)
			}
			s.afterCooldown(next, first.held.Got, 20*time.Second).release()
			s.soon("the own caller", own, time.Second).release()
			time.Sleep(100 * time.Millisecond)
			s.nothingLeft("n")
		})
	}
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

// nothing that frees the name.
func TestMinHoldLateGrant(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p0, p1, p2)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "grant" {
				f.Twice, f.Again = true, time.Second
			}
			f.LoseOut = step.Kind == "cooldown" && step.N == 0
		})
		before := s.lock(p2, "n")
		waits := s.waitsToKeep(p0, "n", time.Minute)
		before.release()
		first := s.soon("p0", waits, time.Second)
		next := s.waits(p1, "n")
		s.Watch.Leaves(first.held)
		_ = first.Release()
		s.afterCooldown(next, first.held.Got, time.Minute).release()
	})
}

// not free the name early, nor does its own next caller, who sees its id there.
func TestMinHoldLost(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.subscribe(p0, p1)
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = step.Process == 0 && (step.Kind == "renew" && len(step.Args) < 3 || step.Kind == "cooldown" && step.N < 3) ||
				step.Process == 0 && step.Kind == "renew" && step.N > 1
		})
		first := s.keeps(p0, "n", 30*time.Second)
		began := first.held.Got
		next := s.waits(p1, "n")
		<-first.Done()
		own := s.waits(p0, "n")
		s.Watch.Leaves(first.held)
		if err := first.Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release = %v; want ErrLost", err)
		}
		s.afterCooldown(next, began, 30*time.Second).release()
		s.on(func(sim.Step, *sim.Fate) {})
		s.soon("the own caller", own, 10*time.Second).release()
		time.Sleep(time.Minute)
		s.nothingLeft("n")
	})
}

// first look.
func TestMinHoldFrozen(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.subscribe(p1)
		first := s.keeps(p0, "n", 20*time.Second)
		next := s.waits(p1, "n")
		go p0.Silence(40 * time.Second)
		time.Sleep(time.Millisecond)
		second := s.afterCooldown(next, first.held.Got, 20*time.Second)
		if err := first.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("the frozen holder's lease says %v; want ErrLost", err)
		}
		time.Sleep(25 * time.Second)
		s.Watch.Leaves(first.held)
		_ = first.Release()
		time.Sleep(5 * time.Second)
		second.release()
		time.Sleep(time.Second)
		s.nothingLeft("n")
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

// and the end of the process do not cut it short.
func TestMinHoldFailover(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(1)
		options := holdfast.Options{TTL: 3 * time.Second, WaitReplicas: 1}
		p0, p1 := s.Process("p0", options, 1), s.process("p1", 3*time.Second)
		first := s.keeps(p0, "n", 20*time.Second)
		s.Freeze(0)
		p0.Kill()
		s.Failover(0, 100*time.Millisecond)
		s.afterCooldown(s.waits(p1, "n"), first.held.Got, 20*time.Second).release()
	})
}

// finds its own old id there, and does not end that.
func TestMinHoldStaleID(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 3*time.Second)
		s.subscribe(p0)
		first := s.keeps(p0, "n", 30*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = step.Kind == "renew" && time.Since(first.held.Got) < 10*time.Second || step.Kind == "cooldown" && time.Since(first.held.Got) < 20*time.Second
		})
		<-first.Done()
		s.Watch.Leaves(first.held)
		_ = first.Release()
		own := s.waitsToKeep(p0, "n", time.Second)
		s.afterCooldown(own, first.held.Got, 30*time.Second)
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
