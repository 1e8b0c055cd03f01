package sim_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// known wants the loss of a lease to be known within d.
func (s stage) known(h hold, d time.Duration) {
	s.t.Helper()
	select {
	case <-h.Done():
	case <-time.After(d):
		s.t.Errorf("the loss is not known after %v", d)
	}
	s.Watch.Leaves(h.held)
	_ = h.Release()
}

// A failover loses more than one lease: with the first that is known as lost
// all are asked for.
func TestOneLossRenewsAll(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		first := s.lock(p0, "n")
		time.Sleep(4 * time.Second)
		second := s.lock(p0, "m")
		s.Evict("n")
		s.Evict("m")
		s.known(first, 2500*time.Millisecond) // by its renewal
		s.known(second, 600*time.Millisecond) // its own is due 3 s later
	})
}

// A caller that holds and waits for nobody is subscribed, too: the end of the subscription
// tells of a failover long before the next renewal.
func TestIdleHolderNoticesAFailover(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		time.Sleep(1500 * time.Millisecond)
		s.Restart(true, 100*time.Millisecond)
		s.known(holder, time.Second) // its renewal is due 3 s later
	})
}

// The subscription broke and is not mended yet, but requests are answered: by
// another server, perhaps.
func TestBrokenSubscriptionRenewsAll(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.subscribe(p0)
		holder := s.lock(p0, "n")
		time.Sleep(time.Second)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "subscribe" })
		p0.Cut()
		s.Evict("n")
		time.Sleep(10 * time.Millisecond)
		s.lock(p0, "m").release()
		s.known(holder, 600*time.Millisecond)
	})
}

// A renewal was sent into a connection that is dead. When other requests are
// answered, it is not waited for.
func TestReconnectRenewsWhatHangs(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		renewals := 0
		hang := make(chan struct{})
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind != "renew" {
				return
			}
			switch renewals++; renewals {
			case 1:
				f.LoseBack, f.Reset = true, true
			case 2:
				f.LoseOut = true
				close(hang)
			}
		})
		<-hang
		time.Sleep(time.Millisecond)
		s.Evict("n")
		s.lock(p0, "m").release()
		s.known(holder, 600*time.Millisecond)
	})
}

// The old master is silent, with our subscription: the new one says that it
// does not know it, and the ping that hangs is not waited for.
func TestForgottenWhileThePingHangs(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 6*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		subscribed := make(chan struct{})
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Process == 1 && step.Kind == "subscribe" {
				close(subscribed)
			}
		})
		time.Sleep(time.Second)
		p1.Deafen() // the ping is sent 5 s after the last sign of life
		time.Sleep(4500 * time.Millisecond)
		select {
		case <-subscribed: // it has looked 6 s after it queued
		case <-time.After(2 * time.Second):
			t.Error("the subscription is not mended")
		}
		holder.release()
		s.soon("the waiter", next, 300*time.Millisecond).release()
	})
}

// A failover brings back what was released just before: whoever is told that it
// holds the name under an id of its own past gives that back.
func TestOwnStaleIDAfterAFailover(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("web-7:123", 15*time.Second), s.process("p1", 15*time.Second) // as owners are called
		lock, _, _ := sim.Keys("n")
		released := func() (id string) {
			holder := s.lock(p0, "n")
			id, _ = s.Do("GET", lock).(string)
			holder.release()
			return id
		}
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "recall" }) // which would tell, too
		s.Do("SET", lock, released(), "PX", "15000")
		s.soon("the same process", s.waits(p0, "n"), 500*time.Millisecond).release()

		id := released()
		holder := s.lock(p0, "n")
		s.Evict("n")
		s.Do("SET", lock, id, "PX", "60000")
		next := s.waits(p1, "n")
		s.known(holder, 6*time.Second) // by its renewal
		s.soon("another process", next, time.Second).release()
	})
}
