package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// A late run of an adoption does not cut the ttl that MinHold has got
// since: the holder dies, and the name cools down on.
func TestAdoptCutsNoMinHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 3*time.Second)
		text := s.lock(p0, "n").export()
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "adopt" {
				f.Again = 2 * time.Second
			}
		})
		h := s.adopt(p1, "n", text)
		m := p1.Client.Mutex("n")
		m.Reentrant, m.MinHold = true, time.Minute
		if _, err := m.Lock(h.Context(t.Context())); err != nil {
			t.Fatal(err)
		}
		p1.Kill()
		time.Sleep(20 * time.Second)
		if !s.locked("n") {
			t.Error("after 20 s the name is free; want it to rest for a minute")
		}
	})
}

// A late run of what made a hold leaves the fence key at least the life that a MinHold
// of holding has given it: the tokens outlive the lock.
func TestLateRunCutsNoFence(t *testing.T) {
	for _, kind := range []string{"lock", "adopt", "multi_lock"} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 3*time.Second)
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == kind && step.Process == 1 {
					f.Again = 2 * time.Second
				}
			})
			var h interface {
				Context(context.Context) context.Context
			}
			switch kind {
			case "lock":
				h = s.lock(p1, "n")
			case "adopt":
				h = s.adopt(p1, "n", s.lock(p0, "n").export())
			case "multi_lock":
				h, _ = s.multi(p1, time.Minute, "n", "o")
			}
			m := p1.Client.Mutex("n")
			m.Reentrant, m.MinHold = true, 48*time.Hour
			if _, err := m.Lock(h.Context(t.Context())); err != nil {
				t.Fatal(err)
			}
			p1.Kill()
			time.Sleep(10 * time.Second)
			lock, fence, _ := sim.Keys("n")
			life, _ := s.Do("PTTL", lock).(int64)
			left, _ := s.Do("PTTL", fence).(int64)
			if life < (47*time.Hour).Milliseconds() || left < life+(24*time.Hour).Milliseconds() {
				t.Errorf("%s: the lock lives for %d ms and its fence key for %d; want a day more", kind, life, left)
			}
		})
	}
}
