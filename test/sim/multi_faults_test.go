package sim_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Several names by one script again, on a network that loses, doubles and delays,
// and in processes that stop.

// The answer is lost, or the request is: the same ids are asked for once more, by
// one script again, and granted once. Nothing is left.
func TestMultiAnswerLost(t *testing.T) {
	for name, lost := range map[string]sim.Fate{
		"answer": {LoseBack: true}, "answer, reset": {LoseBack: true, Reset: true}, "request": {LoseOut: true}, "request, reset": {LoseOut: true, Reset: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				var asked [][]string
				steps := s.steps(0, func(step sim.Step, f *sim.Fate) {
					if step.Kind == "multi_lock" {
						asked = append(asked, step.Args)
						if step.N == 0 {
							*f = lost
						}
					}
				})
				m, err := p0.Client.Multi("a", "b").TryLock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s.Guard(func() { // what is held is renewed once after an error
					*steps = slices.DeleteFunc(*steps, func(kind string) bool { return kind == "renew" })
				})
				s.tookLocks(steps, "multi_lock", "multi_lock")
				if !slices.Equal(asked[0], asked[1]) {
					t.Errorf("asked for %q, then for %q; want the same", asked[0], asked[1])
				}
				if err := m.Release(); err != nil {
					t.Error(err)
				}
				s.gone(time.Millisecond, "a", "b")
			})
		})
	}
}

// So it is where the client is closed meanwhile.
func TestMultiCloseInFlight(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "multi_lock" {
				f.Out = 300 * time.Millisecond
			}
		})
		refused := make(chan error, 1)
		go func() {
			_, err := p0.Client.Multi("a", "b").Lock(context.Background())
			refused <- err
		}()
		time.Sleep(100 * time.Millisecond)
		if err := p0.Client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-refused; !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("Lock: got %v, want ErrClosed", err)
		}
		s.gone(time.Millisecond, "a", "b")
	})
}

// A late duplicate of the request does not cut the least life that a caller of
// one of the names has got since.
func TestMultiLateDuplicateAndMinHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0) // else the next turn would be in another tenure
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "multi_lock" {
				f.Out, f.Again = 200*time.Millisecond, 10*time.Second
			}
		})
		several := s.begins(p0, "a", "b")
		time.Sleep(50 * time.Millisecond)
		kept := make(chan hold, 1)
		go func() { kept <- s.keeps(p0, "a", time.Minute) }()
		(<-several).release()
		first := <-kept
		time.Sleep(11 * time.Second)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "a"), first.held.Got, time.Minute).release()
	})
}
