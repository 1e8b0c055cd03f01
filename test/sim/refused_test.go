package sim_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A lock that Redis refuses before its first write leaves nothing to cancel.
func TestRefusedLockIsNotCancelled(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 5*time.Second)
		s.subscribe(p0)
		cancels := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "cancel" {
				cancels++
			}
		})
		wrong, _, _ := sim.Keys("wrong")
		_, bad, _ := sim.Keys("bad")
		s.Do("RPUSH", wrong, "x")
		s.Do("SET", bad, "damaged")
		for _, name := range []string{"wrong", "bad"} {
			if lease, err := p0.Client.Mutex(name).Lock(t.Context()); err == nil {
				t.Errorf("Lock of %s = %v; want the server's error", name, lease)
			}
		}
		time.Sleep(time.Second)
		if cancels > 0 {
			t.Errorf("%d cancels were sent; want none", cancels)
		}
		if err := p0.Client.Close(); err != nil {
			t.Errorf("Close = %v; want nil", err)
		}
		s.Do("DEL", wrong)
		s.Do("DEL", bad)
	})
}

// A process can send commands but can't subscribe, as on a server at maxclients: it gets
// the name when that is free.
func TestWaitsWithoutASubscription(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.lock(s.process("p0", 5*time.Second), "n")
		p1, tries := s.process("p1", 5*time.Second), 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process != 1 {
				return
			}
			switch step.Kind {
			case "subscribe":
				f.Torn = true
			case "lock":
				tries++
			}
		})
		next := s.waits(p1, "n")
		s.notBefore("the name is held", next, 20*time.Second)
		if most := 20 * 10; tries > most {
			t.Errorf("%d tries in 20 s; want %d at most", tries, most)
		}
		holder.release()
		s.soon("who can't subscribe", next, time.Second).release()
	})
}

// A time to linger may be the longest there is.
func TestLingersForEver(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: time.Second, Linger: math.MaxInt64}, 1)
		time.Sleep(time.Second) // its clock began with this test
		s.lock(p0, "n").release()
		time.Sleep(time.Hour)
		if lease, err := s.process("p1", time.Second).Client.Mutex("n").TryLock(context.Background()); err == nil {
			t.Errorf("TryLock = %v; want ErrHeld: the name lingers", lease)
		}
		if err := p0.Client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}
