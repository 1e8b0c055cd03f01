package sim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A waiter's machine sleeps for longer than its Client is patient: while its lock is under
// way, while it is about to ask again after one that failed, and while its own unlock is
// under way. None of that is an outage of Redis.
func TestSleepIsNoOutage(t *testing.T) {
	const ttl, asleep = 5 * time.Second, 20 * time.Second
	t.Run("lock under way", func(t *testing.T) {
		play(t, func(t *testing.T, s stage) {
			first, p1 := s.lock(s.process("p0", ttl), "n"), s.process("p1", ttl)
			next := s.waits(p1, "n")
			s.firstStep(func(step sim.Step, f *sim.Fate) bool {
				if step.Process != 1 || step.Kind != "lock" {
					return false
				}
				f.LoseOut = true
				p1.Leap(asleep)
				return true
			})
			time.Sleep(2 * ttl)
			first.release()
			s.soon("the waiter that slept", next, lookAfter).release()
		})
	})
	t.Run("about to ask", func(t *testing.T) {
		play(t, func(t *testing.T, s stage) {
			first, p1 := s.lock(s.process("p0", ttl), "n"), s.process("p1", ttl)
			next := s.waits(p1, "n")
			s.firstStep(func(step sim.Step, f *sim.Fate) bool {
				if step.Process != 1 || step.Kind != "lock" {
					return false
				}
				f.LoseOut, f.Reset = true, true
				go func() {
					time.Sleep(2 * time.Millisecond) // the error has come, and it waits for some 10 ms
					p1.Pause(asleep)
				}()
				return true
			})
			time.Sleep(ttl + asleep + time.Second)
			first.release()
			s.soon("the waiter that slept", next, lookAfter).release()
		})
	})
	t.Run("several names", func(t *testing.T) {
		play(t, func(t *testing.T, s stage) {
			p := s.process("p", ttl)
			s.firstStep(func(step sim.Step, f *sim.Fate) bool {
				if step.Kind != "multi_lock" {
					return false
				}
				f.LoseOut, f.Reset = true, true
				go func() {
					time.Sleep(2 * time.Millisecond) // the error has come, and both names wait for some 10 ms
					p.Pause(asleep)
				}()
				return true
			})
			time.Sleep(time.Second)
			lease, err := p.Client.Multi("n", "m").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("unlock under way", func(t *testing.T) {
		play(t, func(t *testing.T, s stage) {
			p0 := s.process("p0", time.Minute)
			first := s.lock(p0, "n")
			other := s.waits(s.process("p1", time.Minute), "n")
			s.firstStep(func(step sim.Step, f *sim.Fate) bool {
				if step.Process != 0 || step.Kind != "unlock" {
					return false
				}
				f.LoseOut = true
				p0.Leap(asleep)
				return true
			})
			go func() { s.Watch.Leaves(first.held); _ = first.Release() }() // nobody knows
			next := s.waits(p0, "n")
			s.soon("the other", other, 5*time.Second).release()
			s.soon("the caller that stands behind the release", next, lookAfter).release()
		})
	})
}

// firstStep lets the network be as it is but for the first step that fate takes.
func (s stage) firstStep(fate func(step sim.Step, f *sim.Fate) bool) {
	taken := false
	s.on(func(step sim.Step, f *sim.Fate) { taken = taken || fate(step, f) })
}

// Redis fails before a machine sleeps, and after it. That is one outage, and the time awake
// counts.
func TestOutageAroundASleep(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const ttl = 10 * time.Second
		p0 := s.process("p0", ttl)
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = strings.HasSuffix(step.Kind, "lock")
			f.Reset = f.LoseOut
		})
		began := time.Now()
		go func() {
			time.Sleep(7 * time.Second)
			p0.Pause(20 * time.Second)
		}()
		_, err := p0.Client.Mutex("n").Lock(t.Context())
		if took := time.Since(began); !errors.Is(err, holdfast.ErrUnreachable) || took < 29*time.Second || took > 32*time.Second {
			t.Errorf("got %v after %v, want ErrUnreachable after 30 s: 10 awake and 20 asleep", err, took)
		}
	})
}
