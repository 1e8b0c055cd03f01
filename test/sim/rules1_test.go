package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

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
