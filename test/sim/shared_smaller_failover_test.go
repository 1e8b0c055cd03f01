package sim_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

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
