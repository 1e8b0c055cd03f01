package sim_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
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

// A process falls silent for good when its request was executed: the names are
// locked for a ttl and no longer.
func TestMultiCrash(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseBack = step.Process == 0 })
		got := s.begins(p0, "b", "a")
		time.Sleep(100 * time.Millisecond)
		p0.Kill()
		if !s.locked("a") || !s.locked("b") {
			t.Fatal("a and b are not locked")
		}
		began := time.Now()
		next := <-s.begins(p1, "a", "b")
		if took := time.Since(began); next == nil || took < 2800*time.Millisecond || took > 3*time.Second {
			t.Errorf("the next got them after %v, want it at the end of the ttl", took)
		}
		if next != nil {
			next.release()
		}
		<-got
	})
}

// A process is frozen under a lease of several: it is lost when others have the
// names, and its release ends nothing of theirs.
func TestMultiFrozen(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second)
		m, err := s.multi(p0, time.Minute, "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		go p0.Silence(10 * time.Second)
		next := <-s.begins(p1, "b", "a")
		if err := m.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Err: got %v, want ErrLost", err)
		}
		time.Sleep(15 * time.Second)
		if err := m.Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release: got %v, want ErrLost", err)
		}
		if next == nil || next.Err() != nil {
			t.Fatal("the next has lost them")
		}
		next.release()
	})
}

// A caller gives up while its request is under way, whether that comes to the
// server behind what cancels it, or its answer is lost: nothing stays locked.
func TestMultiGivenUpInFlight(t *testing.T) {
	for name, fate := range map[string]sim.Fate{
		"request is late": {Out: 300 * time.Millisecond}, "answer is late": {Back: 300 * time.Millisecond}, "answer is lost": {LoseBack: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Kind == "multi_lock" {
						*f = fate
					}
				})
				if _, err := s.multi(p0, 100*time.Millisecond, "a", "b"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Lock: got %v, want the context's error", err)
				}
				time.Sleep(250 * time.Millisecond)
				s.gone(10*time.Millisecond, "a", "b")
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

// The request runs once more, seconds after all was released: stale ids of all its
// names, which end when the next one asks for them.
func TestMultiLateDuplicate(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Hour), s.process("p1", 15*time.Second)
		s.subscribe(p0)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "multi_lock" && step.N == 0 {
				f.Again, f.Twice = 2*time.Second, true
			}
		})
		m, err := s.multi(p0, time.Minute, "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		m.release()
		time.Sleep(3 * time.Second)
		if !s.locked("a") || !s.locked("b") {
			t.Fatal("there are no stale ids")
		}
		if next, err := s.multi(p1, time.Second, "a", "b"); err != nil {
			t.Errorf("the next: %v", err)
		} else {
			next.release()
		}
		s.gone(10*time.Millisecond, "a", "b")
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

// What the server refuses for all names it may grant for each: while a slot
// moves, or for a driver that can't send them together.
func TestMultiRefused(t *testing.T) {
	for _, refusal := range []driver.ServerError{
		"TRYAGAIN Multiple keys request during rehashing of slot", "CROSSSLOT Keys in request don't hash to the same slot", "NOPERM No permissions to access a key",
	} {
		word, _, _ := strings.Cut(string(refusal), " ")
		t.Run(word, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Kind == "multi_lock" {
						f.Refuse = refusal
					}
				})
				m, err := s.multi(p0, 100*time.Millisecond, "a", "b")
				if err != nil {
					t.Fatal(err)
				}
				m.release()
				time.Sleep(time.Second)
				s.gone(time.Millisecond, "a", "b")
			})
		})
	}
}

// Where all grants arrive when they are over, callers are told so.
func TestMultiTooSlow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 100*time.Millisecond)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" || step.Kind == "multi_lock" {
				f.Back = 150 * time.Millisecond
			}
		})
		if _, err := s.multi(p0, 10*time.Second, "a", "b"); !errors.Is(err, holdfast.ErrTooSlow) {
			t.Errorf("Lock: got %v, want ErrTooSlow", err)
		}
		time.Sleep(time.Second)
		s.gone(time.Millisecond, "a", "b")
	})
}
