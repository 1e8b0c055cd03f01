package sim_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// behindARecall lets one process hold a name, another wait for it, and then a caller of
// the first, who gets no turn any more: the release has to queue its process again.
func (s stage) behindARecall(holder, other *sim.Link) (first hold, second, third <-chan hold) {
	s.t.Helper()
	s.subscribe(holder)
	first = s.lock(holder, "n")
	second = s.waits(other, "n")
	time.Sleep(time.Second)
	return first, second, s.waits(holder, "n")
}

// Rule 7, where a release queues the process again: its answer tells that nobody
// listens, too.
func TestForgottenWhenItQueuesAgain(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		first, second, third := s.behindARecall(p1, p0)
		time.Sleep(time.Second)
		p1.Deafen()
		first.release()
		holder := s.soon("p0", second, 100*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		holder.release()
		s.soon("p1", third, 300*time.Millisecond).release() // by itself it would look two seconds after it was queued
	})
}

// A client that asks for a free name is there, whether the server knows its subscription or not.
func TestAskingNeedsNoListener(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 5*time.Second), s.process("p1", 15*time.Second)
		s.lock(p0, "n")
		next := s.waits(p1, "n")
		time.Sleep(time.Second)
		p1.Deafen()
		p0.Kill()
		lock, _, queue := sim.Keys("n")
		s.Do("ZADD", queue, "1", "dead.nonce.15000|dead")
		s.Do("DEL", lock)
		s.soon("the waiter", next, 6*time.Second).release()
	})
}

// A client that gets the name from a release that queues its own process again knows at once
// that somebody waits.
func TestReleaseQueuesAndCounts(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		first, second, third := s.behindARecall(p1, p0)
		first.release()
		holder := s.soon("p0", second, 100*time.Millisecond)
		fourth := s.waits(p0, "n") // behind p1
		holder.release()
		s.soon("p1", third, 100*time.Millisecond).release()
		s.soon("p0 again", fourth, 100*time.Millisecond).release()
	})
}

// A caller that gives up while nobody has the name does not get it by that, though its process
// listens.
func TestGivingUpGetsNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.lock(p0, "n")
		s.giveUpLater(p1, "n", 2*time.Second)
		next := s.waits(p2, "n")
		cancels := 0
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind == "cancel" {
				cancels++
			}
		})
		time.Sleep(time.Second)
		p0.Kill()
		lock, _, _ := sim.Keys("n")
		s.Do("DEL", lock)
		s.soon("the next", next, 2*time.Second).release()
		time.Sleep(time.Second)
		s.Atomically(func() {
			if cancels != 1 {
				t.Errorf("%d cancels; want 1: what was given up was granted", cancels)
			}
		})
	})
}

// However many dead stand in front, a script looks at five hundred of them.
func TestFiveHundredDeadAtATime(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.lock(s.process("p0", 15*time.Second), "n")
		_, _, queue := sim.Keys("n")
		for i := range 1200 {
			s.Do("ZADD", queue, itoa(int64(i)), "dead.n"+itoa(int64(i))+".15000|dead")
		}
		next := s.waits(s.process("p1", 15*time.Second), "n")
		unlocks := 0
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind == "unlock" {
				unlocks++
			}
		})
		holder.release()
		s.soon("the next", next, 100*time.Millisecond).release()
		s.Atomically(func() {
			if unlocks < 3 {
				t.Errorf("%d unlocks took 1,200 dead away; want 3 at least", unlocks)
			}
		})
	})
}

// What a release tells of the place of its process in the queue.
func TestPlaceAfterQueueingAgain(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		var mu sync.Mutex
		var places []int
		p1 := s.Process("p1", holdfast.Options{TTL: 15 * time.Second, OnEvent: func(e holdfast.Event) {
			mu.Lock()
			defer mu.Unlock()
			if q, ok := e.(holdfast.Queued); ok && q.Name == "n" {
				places = append(places, q.Position)
			}
		}}, 1)
		s.subscribe(p1)
		first := s.lock(p1, "n")
		second := s.waits(s.process("p0", 15*time.Second), "n")
		third := s.waits(s.process("p2", 15*time.Second), "n")
		fourth := s.waits(p1, "n") // behind the recall
		first.release()
		holder := s.soon("p0", second, 100*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		if !slices.Equal(places, []int{1}) {
			t.Errorf("places of p1: got %v, want [1]: behind p2", places)
		}
		mu.Unlock()
		holder.release()
		s.soon("p2", third, 100*time.Millisecond).release()
		s.soon("p1", fourth, 100*time.Millisecond).release()
	})
}

// A client that is queued again by a release that lets the name rest is heard, and has no reason
// to subscribe again.
func TestCoolDownIsNoSilence(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		first := s.keeps(p1, "n", 5*time.Second)
		second := s.waits(p0, "n")
		third := s.waits(p1, "n") // behind the recall
		time.Sleep(2 * time.Second)
		subscribed := 0
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind == "subscribe" {
				subscribed++
			}
		})
		first.release()
		s.soon("p0", second, 4*time.Second).release()
		s.soon("p1", third, 100*time.Millisecond).release()
		s.Atomically(func() {
			if subscribed > 0 {
				t.Errorf("%d subscriptions were made again, want none", subscribed)
			}
		})
	})
}
