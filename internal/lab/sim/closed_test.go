package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

// The work of a Once takes longer to stop than Close: the record has its end at once.
func TestOnceEndsBehindClose(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 1500*time.Millisecond), s.process("p1", 15*time.Second)
		s.on(func(sim.Step, *sim.Fate) {})
		var stopped time.Time
		err := p0.Client.Once(t.Context(), "job", time.Minute, func(ctx context.Context, _ *holdfast.Lease) error {
			go p0.Client.Close()
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond)
			stopped = time.Now()
			return context.Cause(ctx)
		})
		if took := time.Since(stopped); took > 100*time.Millisecond || !errors.Is(err, holdfast.ErrLost) || errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("Once = %v, %v after the work had stopped; want ErrLost alone, at once", err, took)
		}
		if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || run.Ended.IsZero() {
			t.Errorf("the record says %+v, %v; want an end", run, err)
		}
	})
}

// Close ends no look whose caller waits, whatever time that one has.
func TestLookWhileClosing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 {
				f.Back = 500 * time.Millisecond
			}
		})
		s.lock(p0, "n")
		look := func(during string) {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			if state, err := p1.Client.Inspect(ctx, "n"); err != nil || state.Holder == nil {
				t.Errorf("a look %s Close: %v, %v; want the holder", during, state, err)
			}
		}
		time.AfterFunc(100*time.Millisecond, func() { _ = p1.Client.Close() })
		look("during")
		look("after")
	})
}

// Main's deferred Close comes while that of a signal is under way: it waits for it, or the
// process would end before anything is released.
func TestCloseTwice(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		silent := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "unlock" {
				f.Out, f.LoseOut = 300*time.Millisecond, silent
			}
		})
		s.Watch.Leaves(s.lock(p0, "n").held)
		go func() { _ = p0.Client.Close() }()
		time.Sleep(10 * time.Millisecond)
		if err := p0.Client.Close(); err != nil || s.locked("n") {
			t.Errorf("the second Close = %v, and locked is %v; want it to wait for the first", err, s.locked("n"))
		}
		p1 := s.process("p1", 15*time.Second)
		s.Watch.Leaves(s.lock(p1, "n").held)
		silent = true
		for range 2 {
			if err := p1.Client.Close(); !errors.Is(err, holdfast.ErrUnknown) {
				t.Errorf("Close while nothing is answered = %v; want ErrUnknown, each time", err)
			}
		}
	})
}

// What hears that a lease was lost may close the Client itself: that ends nothing sooner or
// later, and what is to be told is told.
func TestCloseFromOnEvent(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		var p0 *sim.Link
		lost := 0
		p0 = s.Process("p0", holdfast.Options{TTL: 15 * time.Second, OnEvent: func(e holdfast.Event) {
			if _, over := e.(holdfast.Lost); over {
				lost++
				if err := p0.Client.Close(); err != nil {
					t.Errorf("Close from OnEvent: %v", err)
				}
			}
		}}, 1)
		for _, name := range []string{"a", "b", "c"} {
			s.Watch.Leaves(s.lock(p0, name).held)
		}
		began := time.Now()
		if err := p0.Client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(began); took > 500*time.Millisecond || lost != 3 {
			t.Errorf("%d were told of after %v; want 3 at once", lost, took)
		}
	})
}
