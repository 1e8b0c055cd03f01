package sim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Rule 1: a client that has no confirmed subscription does not wait in the queue: the script
// that hands over would take it for dead.
func TestSubscribesBeforeWaiting(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		var confirmed time.Time
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Process == 1 && step.Kind == "subscribe":
				f.Back = 300 * time.Millisecond
				confirmed = time.Now().Add(f.Out + f.Back)
			case step.Process == 1 && step.Waits() && (confirmed.IsZero() || time.Now().Before(confirmed)):
				t.Error("a lock that waits is sent before the subscription is confirmed")
			}
		})
		holder := s.lock(s.process("p0", 15*time.Second), "n")
		next := s.waits(s.process("p1", 15*time.Second), "n")
		time.Sleep(time.Second)
		holder.release()
		s.soon("the waiter", next, 100*time.Millisecond).release()
	})
}

// Rule 1: while no recall can be heard, a tenure serves one turn only.
func TestNoSecondTurnUnnoticed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Process == 0 && step.Kind == "subscribe" })
		stop := s.keepsBusy(s.process("p0", 15*time.Second), "n", 200*time.Millisecond)
		defer stop()
		next := s.waits(s.process("p1", 15*time.Second), "n")
		s.soon("the other process", next, 400*time.Millisecond).release()
	})
}

// Rule 2: a grant that is heard of twice, by push and by answer, late and again,
// neither gives a token twice nor revives what has ended.
func TestGrantArrivesTwice(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "grant" {
				f.Twice, f.Again = true, 300*time.Millisecond
			}
		})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		stop := s.keepsBusy(p1, "n", time.Millisecond)
		holder.release()
		time.Sleep(100 * time.Millisecond)
		stop()
		time.Sleep(time.Second)
		s.nothingLeft("n")
	})
}

// Rule 3: a lock that arrives after its cancel is cancelled again when its
// answer comes.
func TestLateLockIsCancelled(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.subscribe(p0)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Out = 100 * time.Millisecond
			}
		})
		s.giveUp(p0, "n", 10*time.Millisecond) // it will be granted
		time.Sleep(time.Second)
		s.nothingLeft("n")

		holder := s.lock(s.process("p1", 15*time.Second), "m")
		s.giveUp(p0, "m", 10*time.Millisecond) // it will be queued
		time.Sleep(time.Second)
		if _, waiters := s.left("m"); waiters > 0 {
			t.Errorf("%d waiters of m are left", waiters)
		}
		holder.release()
	})
}

// Rule 3: a lock that was sent again runs after the unlock of its id, and what comes
// of it is heard of before the unlock is answered: it is cancelled then, not left in the lock key
// for a ttl, nor in the queue until its turn.
func TestLateLockWhileLeaving(t *testing.T) {
	for _, lost := range []bool{true, false} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
			s.subscribe(p0, p1, p2)
			asked := 0
			s.on(func(step sim.Step, f *sim.Fate) {
				switch {
				case step.Process != 0:
				case step.Waits():
					switch asked++; asked {
					case 1:
						f.LoseBack = true // so it is sent again after 2 s
					case 2:
						f.Out, f.LoseBack = time.Second, lost
					}
				case step.Kind == "unlock":
					f.Back = 1900 * time.Millisecond
				}
			})
			holder := s.lock(p1, "n")
			next := s.waits(p0, "n")
			time.Sleep(100 * time.Millisecond)
			var behind <-chan hold
			if !lost {
				behind = s.waits(p2, "n")
			}
			time.Sleep(2150 * time.Millisecond) // the second one is under way
			holder.release()
			got := s.soon("who waited in the queue", next, 100*time.Millisecond)
			released := make(chan struct{})
			go func() {
				defer close(released)
				got.release()
			}()
			time.Sleep(1850 * time.Millisecond) // the unlock is not answered
			if lock, waiters := s.left("n"); lock == lost || waiters > 0 {
				t.Errorf("its answer lost: %t; the lock key is held: %t, %d stand in the queue; want nothing of the id that was released", lost, lock, waiters)
			}
			if !lost {
				s.soon("who stood behind it", behind, time.Second).release()
			}
			<-released
		})
	}
}

// Rule 3: a late duplicate of a lock leaves a stale id in the queue. It ends as soon
// as anything is heard of it.
func TestStaleIDEndsWhenSeen(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p1, p2)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Waits() {
				f.Again = time.Second
			}
		})
		holder := s.lock(p0, "n")
		s.giveUp(p1, "n", 100*time.Millisecond)
		time.Sleep(2 * time.Second)
		if _, waiters := s.left("n"); waiters != 1 {
			t.Fatalf("%d waiters; want the stale id", waiters)
		}
		next := s.waits(p2, "n")
		holder.release()
		s.soon("who stands behind the stale id", next, 500*time.Millisecond).release()
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// Rule 3: only ids that this process made are cancelled. A cloned machine has
// our client, and leases of its own.
func TestForeignIDIsNotCancelled(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.subscribe(p0)
		client := ""
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind == "lock" {
				client, _, _ = strings.Cut(step.ID, ".")
			}
			if step.Kind == "cancel" {
				t.Errorf("cancel of %s is sent", step.ID)
			}
		})
		s.lock(p0, "n").release()
		twin := ""
		s.Guard(func() { twin = client + ".AAAAAAAAAAA.15000|twin" })
		for _, push := range []string{"recall " + twin, "head 100 " + twin, "grant 64 64 0 0 1 2000 " + twin} {
			s.Do("PUBLISH", "holdfast/push:"+strings.SplitN(twin, ".", 2)[0], push)
		}
		time.Sleep(time.Second)
	})
}

// Rules 3 and 5: a tenure that ended by its deadline keeps its lock key until its lease
// is released, or the ttl ends: work that is stopping has the rest of it. No
// late grant changes that.
func TestGraceAfterTheDeadline(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.subscribe(p0, p1)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "renew" {
				f.LoseBack = true // they run: the lock key lives on
			}
			if step.Process == 0 && step.Kind == "grant" {
				f.Again = 2500 * time.Millisecond
			}
		})
		first := s.lock(p1, "n")
		second := s.waits(p0, "n")
		first.release()
		holder := <-second
		next := s.waits(p1, "n")
		<-holder.Done()
		if err := holder.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Fatalf("the holder's lease says %v; want ErrLost", err)
		}
		s.notBefore("the next", next, 600*time.Millisecond)
		s.Watch.Leaves(holder.held)
		if err := holder.Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release = %v; want ErrLost", err)
		}
		s.soon("the next", next, 100*time.Millisecond).release()
	})
}

// Rule 4: an unlock that the client library below sent twice is answered "not
// held" and has released.
func TestUnlockSentTwice(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.Twice = step.Kind == "unlock" })
		p0 := s.process("p0", 15*time.Second)
		s.lock(p0, "n").release()
		s.subscribe(p0)
		stop := s.keepsBusy(p0, "n", time.Millisecond) // and with a fresh id each time
		next := s.waits(s.process("p1", 15*time.Second), "n")
		s.soon("the other process", next, 5*time.Second).release()
		time.Sleep(100 * time.Millisecond)
		stop()
		time.Sleep(time.Second)
		s.nothingLeft("n")
	})
}

// Rule 4: the fresh id of an unlock that found somebody else's lock key, or none, is
// not in the queue; lock is sent for it.
func TestFreshIDThatWasNotQueued(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n") // recalls p0
		time.Sleep(10 * time.Millisecond)
		own := s.waits(p0, "n") // not one of the waiters that are still served
		s.Evict("n")
		s.Watch.Leaves(holder.held)
		if err := holder.Release(); err != nil && !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release = %v", err)
		}
		s.soon("the other process", next, time.Second).release()
		s.soon("the own caller", own, time.Second).release()
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// Rule 4: a late duplicate of an unlock does not queue its fresh id again.
func TestLateUnlockQueuesNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Queues() != "" {
				f.Again = 2 * time.Second
			}
		})
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		own := s.waits(p0, "n")
		holder.release()
		s.soon("the other process", next, time.Second).release()
		s.soon("the own caller", own, time.Second).release()
		last := s.lock(p1, "n")
		time.Sleep(3 * time.Second)
		if _, waiters := s.left("n"); waiters > 0 {
			t.Errorf("%d waiters; want none", waiters)
		}
		last.release()
	})
}
