package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A request that comes half a period late, or once more, begins no tick: nobody would run
// it.
func TestOnceEveryLateRequest(t *testing.T) {
	for what, fate := range map[string]sim.Fate{"late": {Out: time.Minute - time.Second}, "again": {Again: time.Minute - 200*time.Millisecond}} {
		t.Run(what, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
				nextTick(time.Minute)
				first := time.Now()
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Kind == "once_lock" && step.Process == 0 {
						*f = fate
					}
				})
				err := s.tick(p0, time.Minute, first, 0, func() {})
				if (err == nil) != (what == "again") {
					t.Errorf("OnceEvery = %v", err)
				}
				for k := 1; k < 4; k++ {
					time.Sleep(time.Until(first.Add(time.Duration(k) * time.Minute)))
					ran := false
					if err := s.tick(p1, time.Minute, first, 0, func() { ran = true }); err != nil || !ran {
						t.Errorf("tick %d: OnceEvery = %v, ran: %v; want a run", k, err, ran)
					}
				}
			})
		})
	}
}

// The answer that it has begun is lost: the same request again is answered the same, the
// job runs once, and the record ends.
func TestOnceEveryLostAnswer(t *testing.T) {
	for what, again := range map[string]time.Duration{"the name is ours still": 0, "the name is free again": 2 * time.Second} {
		t.Run(what, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Kind == "once_lock" && step.N == 0 {
						f.LoseBack, f.Reset = true, again == 0
					}
					if step.Kind == "once_lock" && step.N > 0 && again > 0 {
						f.Out = again / 8
					}
				})
				s.ticks(p0, time.Minute, true)
				if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || run.Outcome != holdfast.Done || run.Token == 0 {
					t.Errorf("LastRun = %+v, %v; want one that is done", run, err)
				}
				s.ticks(p1, time.Minute, false)
			})
		})
	}
}

// A caller whose context ends before it hears that it has begun gives the tick back, and
// so does a run that says so.
func TestOnceEveryGivesTheTickBack(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "once_lock" && step.Process == 0 {
				f.Back = time.Second
			}
		})
		nextTick(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		err := p0.Client.OnceEvery(ctx, "job", time.Minute, time.Time{}, func(context.Context, *holdfast.Lease) error {
			t.Error("it runs")
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("OnceEvery = %v; want the context's error", err)
		}
		s.saysThatItDidNotRun(p1)
		later := errors.New("not yet")
		for range 3 {
			err = p1.Client.OnceEvery(t.Context(), "job", time.Minute, time.Time{}, func(context.Context, *holdfast.Lease) error {
				return holdfast.Retryable(later)
			})
			if !errors.Is(err, later) {
				t.Errorf("OnceEvery = %v; want the job's own error", err)
			}
		}
		s.ticks(p1, time.Minute, true)
		s.ticks(p1, time.Minute, false)
	})
}

// The clock of Redis steps back: no tick begins twice, and when it is past the newest
// tick they go on.
func TestOnceEveryClockStepsBack(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		for range 3 {
			s.ticks(p0, time.Minute, true)
			time.Sleep(time.Minute)
		}
		s.StepBack(2 * time.Minute)
		e := s.notDue(s.tick(p0, time.Minute, time.Time{}, 0, func() { t.Error("it runs twice") }))
		if e.TickBegun || e.DueIn < 119*time.Second || e.DueIn > 2*time.Minute {
			t.Errorf("due in %v, begun: %v; want 2 min, and that the tick of this call is missed", e.DueIn, e.TickBegun)
		}
		time.Sleep(time.Minute)
		s.ticks(p0, time.Minute, false)
		time.Sleep(time.Minute)
		s.ticks(p0, time.Minute, true)
	})
}

// A frozen run wakes up when the next tick has been begun by another. It does not write
// over that one's record.
func TestOnceEveryStaleRun(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		nextTick(time.Minute)
		ended := make(chan error)
		go func() {
			ended <- p0.Client.OnceEvery(t.Context(), "job", time.Minute, time.Time{}, func(context.Context, *holdfast.Lease) error {
				time.Sleep(90 * time.Second) // it does not look at its lease
				return nil
			})
		}()
		time.Sleep(time.Second)
		go p0.Silence(80 * time.Second)
		time.Sleep(time.Minute)
		next := make(chan error)
		go func() { next <- s.tick(p1, time.Minute, time.Time{}, 50*time.Second, func() {}) }()
		if err := <-ended; !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("the frozen OnceEvery = %v; want ErrLost", err)
		}
		if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || run.Owner != "p1" || !run.Ended.IsZero() {
			t.Errorf("LastRun = %+v, %v; want that of p1, which has not ended", run, err)
		}
		if err := <-next; err != nil {
			t.Errorf("OnceEvery = %v; want a run", err)
		}
		if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || run.Owner != "p1" || run.Outcome != holdfast.Done {
			t.Errorf("LastRun = %+v, %v; want that of p1", run, err)
		}
	})
}

// The same name locked as a Mutex: a tick overtakes no living waiter when the holder is
// dead, and dead waiters do not keep it from beginning.
func TestOnceEveryBesideAMutex(t *testing.T) {
	for _, alive := range []bool{true, false} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, p2 := s.process("p0", time.Second), s.process("p1", time.Second), s.process("p2", time.Second)
			s.lock(p0, "job")
			got := make(chan struct{})
			go func() {
				if lease, err := p1.Client.Mutex("job").Lock(context.Background()); err == nil {
					close(got)
					_ = lease.Release()
				}
			}()
			time.Sleep(100 * time.Millisecond)
			if e := s.notDue(s.tick(p2, time.Minute, time.Time{}, 0, func() { t.Error("it overtakes") })); !e.Running || e.Last != nil {
				t.Errorf("got %+v; want that the name is held, and no run", e)
			}
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Process == 1 && step.Kind == "lock" {
					f.Out = 10 * time.Second // it learns only by a push that it has the name
				}
			})
			p0.Kill()
			if !alive {
				p1.Kill()
			}
			time.Sleep(1100 * time.Millisecond)
			if !alive {
				s.ticks(p2, time.Minute, true)
				return
			}
			first := ""
			if err := s.tick(p2, time.Minute, time.Time{}, time.Second, func() {
				select {
				case <-got:
				default:
					first = "the tick"
				}
			}); err != nil && !errors.Is(err, holdfast.ErrNotDue) || first != "" {
				t.Errorf("OnceEvery = %v, first is %q; want that the waiter is", err, first)
			}
			time.Sleep(time.Second)
			select {
			case <-got:
			default:
				t.Error("the waiter was not told that it has the name")
			}
		})
	}
}

// The ttl is short, the first answer is lost, and the second request comes when the name has
// expired. The run is the same, and nobody has heard of it.
func TestOnceEveryLapsed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 300*time.Millisecond), s.process("p1", 300*time.Millisecond)
		began := time.Now()
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "once_lock" {
				f.LoseBack, f.LoseOut = step.N == 0, step.N > 0 && time.Since(began) < 400*time.Millisecond
			}
		})
		s.ticks(p0, time.Minute, true)
		s.on(func(sim.Step, *sim.Fate) {})
		s.ticks(p1, time.Minute, false)
	})
}

// The name is free when OnceEvery looks, and held when it asks for it.
func TestOnceEveryTakenMeanwhile(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "once_lock" {
				f.Out = 300 * time.Millisecond
			}
		})
		done := make(chan error)
		go func() { done <- s.tick(p1, time.Minute, time.Time{}, 0, func() { t.Error("two have the name") }) }()
		time.Sleep(100 * time.Millisecond)
		h := s.lock(p0, "job")
		if e := s.notDue(<-done); !e.Running || e.Owner != "p0" || e.Last != nil {
			t.Errorf("got %+v; want that p0 has the name", e)
		}
		h.release()
		s.ticks(p1, time.Minute, true)
	})
}
