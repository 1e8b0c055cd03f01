package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// EnsureHeld: nil while it is held, and it prolongs; the loss that nobody has
// told of yet; an error of its own while Redis does not answer.
func TestEnsureHeld(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		time.Sleep(4 * time.Second)
		if err := holder.EnsureHeld(t.Context()); err != nil {
			t.Errorf("EnsureHeld of a held lease: %v", err)
		}
		if left := holder.Remaining(); left < 14*time.Second {
			t.Errorf("%v are left after EnsureHeld; want about a ttl", left)
		}
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" {
				f.Refuse = "LOADING Redis is loading the dataset in memory"
			}
		})
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld while Redis refuses: %v; want ErrUnreachable", err)
		}
		s.on(func(sim.Step, *sim.Fate) {})
		go p0.Silence(4 * time.Second)
		time.Sleep(time.Millisecond)
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld while Redis is silent: %v; want ErrUnreachable", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := holder.EnsureHeld(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("EnsureHeld under a context that ends: %v; want its error", err)
		}
		time.Sleep(5 * time.Second)
		s.Evict("n")
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld after the loss: %v; want ErrLost", err)
		}
		holder.stops()
		if err := s.lock(p0, "m").EnsureHeld(t.Context()); err != nil {
			t.Errorf("EnsureHeld: %v", err)
		}
	})
}

// EnsureHeld: an answer that comes when the lease is over is no proof.
func TestEnsureHeldAnsweredLate(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.lock(s.process("p0", time.Second), "n")
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = step.Kind == "renew"
		})
		time.Sleep(960 * time.Millisecond)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" {
				f.Back = 45 * time.Millisecond
			}
		})
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld = %v; want ErrLost", err)
		}
		holder.stops()
	})
}
