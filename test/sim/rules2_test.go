package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Rule 6, the lost grant: a waiter whose push never comes looks again by itself
// when the holder's ttl would have ended.
func TestLostGrant(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Push && step.Kind == "grant" })
		holder := s.lock(s.process("p0", 15*time.Second), "n")
		next := s.waits(s.process("p1", 15*time.Second), "n")
		holder.release()
		s.soon("the waiter", next, 17*time.Second).release()
	})
}

// Rule 6, the lost recall: the queue length in a renewal's answer tells a holder
// that somebody waits.
func TestLostRecall(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Push && step.Kind == "recall" })
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		stop := s.keepsBusy(p0, "n", 20*time.Millisecond)
		defer stop()
		next := s.waits(p1, "n")
		s.soon("the waiter", next, 1500*time.Millisecond).release()
	})
}

// Section 6, the early recall: one that comes before the answer which says that
// we hold the name counts.
func TestEarlyRecall(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		slow := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if slow && step.Process == 0 && step.Kind == "lock" {
				f.Back = 100 * time.Millisecond
			}
		})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		s.Guard(func() { slow = true })
		stop := s.keepsBusy(p0, "n", 200*time.Millisecond)
		defer stop()
		next := s.waits(p1, "n") // queued and recalled while p0's answer is on its way
		s.soon("the waiter", next, 2*time.Second).release()
	})
}

// Rule 6: a new head is told until when it must wait; where that is lost, its
// own look at its place in the queue finds a dead holder.
func TestLostHead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Push && step.Kind == "head" })
		p0, p1, p2 := s.process("p0", 5*time.Second), s.process("p1", 5*time.Second), s.process("p2", 5*time.Second)
		holder := s.lock(p0, "n")
		second := s.waits(p1, "n")
		third := s.waits(p2, "n")
		holder.release()
		got := s.soon("the second", second, time.Second)
		time.Sleep(time.Second)
		p1.Kill()
		_ = got
		s.soon("the third", third, 5*time.Second).release()
	})
}

// Rule 6: a waiter that was dead when its turn came, because its connection had
// ended, comes back to the place that it had.
func TestPlaceIsKept(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p := []*sim.Link{s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second), s.process("p3", 15*time.Second)}
		s.subscribe(p[1:]...)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Kind == "subscribe" {
				f.Out = 300 * time.Millisecond
			}
		})
		holder := s.lock(p[0], "n")
		first := s.waits(p[1], "n")
		second := s.waits(p[2], "n")
		third := s.waits(p[3], "n")
		p[1].Cut()
		holder.release()
		got := s.soon("who stands behind the dead", second, 200*time.Millisecond)
		time.Sleep(time.Second) // the first is back
		got.release()
		s.soon("who was away", first, 200*time.Millisecond).release()
		s.soon("the last", third, 200*time.Millisecond).release()
	})
}

// Rule 6: what was pushed while the subscription was down is asked for when it
// is up again.
func TestAsksAgainWhenSubscribedAgain(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		away := false
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Push && away })
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		s.Guard(func() { away = true })
		holder.release() // its grant is lost
		time.Sleep(10 * time.Millisecond)
		s.Guard(func() { away = false })
		p1.Cut()
		s.soon("the waiter", next, 60*time.Millisecond).release() // a poll would take 100 and more
	})
}

// Rule 6: a foreign holder pushes nothing, so it is polled.
func TestForeignHolderIsPolled(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		lock, _, _ := sim.Keys("n")
		s.Do("SET", lock, "theirs", "PX", "60000")
		next := s.waits(s.process("p0", 15*time.Second), "n")
		time.Sleep(3 * time.Second)
		s.Do("DEL", lock)
		s.soon("the waiter", next, 600*time.Millisecond).release()
	})
}

// Rule 7: a waiter learns from the answers that the server does not know the subscriptions
// subscription any more, long before a ping would tell.
func TestForgottenSubscriptionIsNoticed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 5*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		time.Sleep(time.Second)
		p1.Deafen()
		time.Sleep(4600 * time.Millisecond) // it has just looked, at the end of the ttl that it knew
		holder.release()
		s.soon("the waiter", next, 300*time.Millisecond).release()
	})
}

// Rule 7: also one that is forgotten as soon as it is confirmed, by who stands so far
// behind that it asks seldom.
func TestForgottenAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		_, _, queue := sim.Keys("n")
		for i := range 60 {
			s.Do("ZADD", queue, itoa(int64(i)), "dead.n"+itoa(int64(i))+".15000|dead")
		}
		s.subscribe(p1)
		p1.Deafen()
		next := s.waits(p1, "n")
		time.Sleep(2 * time.Second)
		holder.release()
		s.soon("the waiter", next, 300*time.Millisecond).release() // a poll takes 6 s and more
	})
}

// Rule 7: what an answer says of the subscription before counts no more.
func TestOlderAnswerDoesNotResubscribe(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		s.subscribe(p1)
		subscribed := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Process != 1:
			case step.Kind == "subscribe":
				subscribed++
			case step.Waits() && subscribed == 0:
				f.Back = 300 * time.Millisecond
			}
		})
		p1.Deafen()
		next := s.waits(p1, "n")
		time.Sleep(10 * time.Millisecond)
		p1.Cut()
		time.Sleep(3 * time.Second)
		s.Guard(func() {
			if subscribed != 1 {
				t.Errorf("subscribed again %d times, want once", subscribed)
			}
		})
		holder.release()
		s.soon("the waiter", next, 300*time.Millisecond).release()
	})
}

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

// Rule 8: where grants arrive when they are over, a caller is told so, and
// nothing stays behind.
func TestTooSlow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Back = 150 * time.Millisecond
			}
		})
		p0 := s.process("p0", 100*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := p0.Client.Mutex("n").Lock(ctx)
		var slow *holdfast.TooSlowError
		if !errors.As(err, &slow) || slow.TTL != 100*time.Millisecond || slow.RoundTrip < 150*time.Millisecond {
			t.Errorf("Lock = %v (%+v); want a TooSlowError with ttl and round trip", err, slow)
		}
		time.Sleep(50 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// Rule 8: a process that was paused twice in one wait has no slow network.
func TestPausedTwiceIsNotTooSlow(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		const ttl = 5 * time.Second
		first := s.lock(s.process("p0", ttl), "n")
		p1 := s.process("p1", ttl)
		slept := s.waits(p1, "n")
		for i := range 2 {
			next := s.waits(s.process(fmt.Sprint("next", i), ttl), "n")
			go first.release()
			p1.Pause(2500 * time.Millisecond) // it is granted the name, and does not hear
			first = s.soon("who stands behind it", next, time.Second)
			time.Sleep(10 * time.Second)
		}
		first.release()
		s.soon("who was paused", slept, time.Second).release()
	})
}

// Rule 8: two answers were slow, with an outage between them.
func TestSlowNowAndThenIsNotTooSlow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		locks := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind != "lock" {
				return
			}
			switch locks++; locks {
			case 1, 4:
				f.Back = 150 * time.Millisecond
			case 2, 3:
				f.LoseOut = true
			}
		})
		s.lock(s.process("p0", 100*time.Millisecond), "n").release()
	})
}

// Rule 8: a turn is not given with less than a third of the life left.
func TestTurnHasAThirdOfTheTTL(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Back = 220 * time.Millisecond
			}
		})
		holder := s.lock(s.process("p0", 300*time.Millisecond), "n")
		if left := holder.Remaining(); left < 200*time.Millisecond {
			t.Errorf("the lease has %v left of 300ms; want it renewed first", left)
		}
		holder.release()
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

// Rule 9: an unlock that fell back to the lock key alone has not handed the queue over. It is done
// when the keys are together again.
func TestQueueMovesWhenASlotHasMoved(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		moving := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if moving && step.Kind == "unlock" {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		s.Guard(func() { moving = true })
		holder.release()
		time.Sleep(300 * time.Millisecond)
		s.Guard(func() { moving = false })
		s.soon("the waiter", next, time.Second).release()
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
