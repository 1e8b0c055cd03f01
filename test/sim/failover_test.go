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
