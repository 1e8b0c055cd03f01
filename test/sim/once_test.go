package sim_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// once calls Once with a job that takes some time and notes its beginnings.
func (s stage) once(l *sim.Link, interval, work time.Duration, began func()) error {
	return l.Client.Once(s.t.Context(), "job", interval, func(ctx context.Context, _ *holdfast.Lease) error {
		began()
		select {
		case <-time.After(work):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// notDue is what an error says of the newest run.
func (s stage) notDue(err error) *holdfast.NotDueError {
	s.t.Helper()
	e, ok := errors.AsType[*holdfast.NotDueError](err)
	if !ok || !errors.Is(err, holdfast.ErrNotDue) {
		s.t.Fatalf("Once = %v; want a *NotDueError", err)
	}
	return e
}

// A fleet whose clocks differ, by hours and in their rates, calls Once all the
// time: between two runs lies the interval, and none is left out for long.
func TestOnceInAFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	play(t, func(t *testing.T, s stage) {
		const interval = time.Minute
		var newest atomic.Int64
		var runs atomic.Int64
		done := make(chan struct{})
		for i, rate := range []float64{0.996, 1, 1.004} {
			l := s.Process("p"+itoa(int64(i)), holdfast.Options{TTL: 15 * time.Second}, rate)
			l.Leap(time.Duration(i) * 5 * time.Hour)
			go func() {
				defer func() { done <- struct{}{} }()
				for range 1000 {
					err := s.once(l, interval, 100*time.Millisecond, func() {
						now := time.Now().UnixNano()
						before := time.Duration(now - newest.Swap(now))
						if before < interval*99/100 {
							s.Watch.Broken("a run %v after the one before; want %v", before, interval)
						}
						if runs.Add(1) > 1 && before > interval*102/100+2*time.Second {
							s.Watch.Broken("no run for %v; want one each %v", before, interval)
						}
					})
					if err != nil && !errors.Is(err, holdfast.ErrNotDue) {
						s.Watch.Broken("Once = %v", err)
					}
					time.Sleep(time.Second + time.Duration(i)*7*time.Millisecond)
				}
			}()
		}
		for range 3 {
			<-done
		}
		if runs.Load() < 14 {
			t.Errorf("%d runs in 1000 s; want one each minute", runs.Load())
		}
	})
}

// Others learn who runs it, when it ran last and how that ended, as a program and
// as a person.
func TestOnceTellsTheOthers(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		if run, err := p1.Client.LastRun(t.Context(), "job"); !errors.Is(err, holdfast.ErrNeverRan) {
			t.Errorf("LastRun = %v, %v; want ErrNeverRan", run, err)
		}
		broken := errors.New("the disk is full\nand more")
		ended := make(chan error)
		go func() {
			ended <- p0.Client.Once(t.Context(), "job", time.Minute, func(context.Context, *holdfast.Lease) error {
				time.Sleep(10 * time.Second)
				return broken
			})
		}()
		time.Sleep(5 * time.Second)
		e := s.notDue(s.once(p1, time.Minute, 0, func() { t.Error("it runs twice") }))
		if !e.Running || e.Owner != "p0" || e.Last == nil || e.Last.Owner != "p0" || !e.Last.Ended.IsZero() || time.Since(e.Last.Began) > 6*time.Second {
			t.Errorf("got %+v, %+v; want that p0 runs it", e, e.Last)
		}
		if err := <-ended; !errors.Is(err, broken) || errors.Is(err, holdfast.ErrNotDue) {
			t.Errorf("Once = %v; want the job's own error", err)
		}
		e = s.notDue(s.once(p1, time.Minute, 0, func() { t.Error("a failed run does not count") }))
		if e.Running || e.DueIn < 49*time.Second || e.DueIn > 50*time.Second {
			t.Errorf("got %+v; want it due in 50 s", e)
		}
		if want := "failed: the disk is full and more"; e.Last == nil || e.Last.Outcome != want || e.Last.Ended.Sub(e.Last.Began).Round(time.Second) != 10*time.Second {
			t.Errorf("got %+v; want 10 s and %q", e.Last, want)
		}
		if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || *run != *e.Last {
			t.Errorf("LastRun = %+v, %v; want %+v", run, err, e.Last)
		}
		time.Sleep(51 * time.Second)
		ran := false
		if err := s.once(p1, time.Minute, 0, func() { ran = true }); err != nil || !ran {
			t.Errorf("after the interval: Once = %v, ran: %v", err, ran)
		}
	})
}

// A run that says so does not count: the next is at once.
func TestOnceRetryable(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		later := errors.New("not yet")
		err := p0.Client.Once(t.Context(), "job", time.Hour, func(context.Context, *holdfast.Lease) error {
			return holdfast.Retryable(later)
		})
		if !errors.Is(err, later) {
			t.Errorf("Once = %v; want the job's own error", err)
		}
		if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || run.Outcome != "failed, does not count: not yet" {
			t.Errorf("LastRun = %+v, %v", run, err)
		}
		ran := false
		if err := s.once(p1, time.Hour, 0, func() { ran = true }); err != nil || !ran {
			t.Errorf("Once = %v, ran: %v; want a run", err, ran)
		}
	})
}

// Behind Close the name cools down, so a run that says that it does not count does.
func TestOnceRetryableBehindClose(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		s.on(func(sim.Step, *sim.Fate) {})
		err := p0.Client.Once(t.Context(), "job", time.Minute, func(ctx context.Context, _ *holdfast.Lease) error {
			go p0.Client.Close()
			<-ctx.Done()
			return holdfast.Retryable(context.Cause(ctx))
		})
		if !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		time.Sleep(time.Second)
		if e := s.notDue(s.once(p1, time.Minute, 0, func() { t.Error("the name does not cool down") })); e.DueIn < 50*time.Second {
			t.Errorf("it cools down for %v, want a minute", e.DueIn)
		}
		run, err := p1.Client.LastRun(t.Context(), "job")
		if err != nil || strings.Contains(run.Outcome, "does not count") || !strings.Contains(run.Outcome, "then: failed: ") {
			t.Errorf("the record says %+v, %v", run, err)
		}
	})
}

// A run that was frozen until another had begun does not write over that one's
// record, neither when it ends nor by a request that comes late.
func TestOnceStaleRun(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "once_begin" {
				f.Again = 40 * time.Second
			}
		})
		ended := make(chan error)
		go func() {
			ended <- p0.Client.Once(t.Context(), "job", 10*time.Second, func(context.Context, *holdfast.Lease) error {
				time.Sleep(15 * time.Second) // it does not look at its lease
				return nil
			})
		}()
		time.Sleep(time.Second)
		go p0.Silence(12 * time.Second)
		time.Sleep(time.Millisecond)
		time.Sleep(10 * time.Second)
		if err := s.once(p1, 10*time.Second, time.Second, func() {}); err != nil {
			t.Errorf("Once = %v; want a run", err)
		}
		if err := <-ended; !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("the frozen Once = %v; want ErrLost", err)
		}
		time.Sleep(time.Minute)
		if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || run.Owner != "p1" || run.Outcome != holdfast.Done {
			t.Errorf("LastRun = %+v, %v; want that of p1", run, err)
		}
	})
}

// The beginning can't be written down: nothing runs, and the name does not cool down. The
// end can't: it ran, and the error says so.
func TestOnceWithoutARecord(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 3*time.Second)
		lost := "once_begin"
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == lost })
		if err := s.once(p0, time.Hour, 0, func() { t.Error("it runs") }); !errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("Once = %v; want ErrUnreachable", err)
		}
		time.Sleep(time.Second)
		s.nothingLeft("job")
		s.Atomically(func() { lost = "once_end" })
		if err := s.once(p0, time.Hour, 0, func() {}); !errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("Once = %v; want ErrUnreachable", err)
		}
		_ = s.notDue(s.once(p0, time.Hour, 0, func() { t.Error("it runs twice") }))
	})
}

// A job that panics has run.
func TestOncePanic(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 3*time.Second)
		func() {
			defer func() {
				if said := recover(); said != "oops" {
					t.Errorf("recovered %v; want oops", said)
				}
			}()
			_ = s.once(p0, time.Hour, 0, func() { panic("oops") })
		}()
		if e := s.notDue(s.once(p0, time.Hour, 0, func() { t.Error("it runs twice") })); e.Running || e.Last == nil || e.Last.Outcome == holdfast.Done {
			t.Errorf("got %+v, %+v; want a run that panicked", e, e.Last)
		}
	})
}

// Its context ends while the beginning is noted: the record does not go on saying that it
// began.
func TestOnceIsGivenUpAtItsBeginning(t *testing.T) {
	const late = 200 * time.Millisecond
	for what, fate := range map[string]sim.Fate{"begun": {Back: late}, "it begins behind that": {Out: late}} {
		t.Run(what, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
				begun := false
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Kind == "once_begin" && !begun {
						begun, *f = true, fate
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(late/2, cancel)
				s.doesNotRun(ctx, p0, context.Canceled)
				time.Sleep(late)
				s.saysThatItDidNotRun(p1)
			})
		})
	}
	t.Run("nobody answered but servers that will not do", func(t *testing.T) {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			begun := time.Time{}
			s.on(func(step sim.Step, f *sim.Fate) {
				switch {
				case step.Kind != "once_begin":
				case begun.IsZero():
					begun, f.LoseBack, f.Reset = time.Now(), true, true
				case time.Since(begun) < 2100*time.Millisecond:
					f.Refuse = "LOADING Redis is loading the dataset in memory"
				}
			})
			s.doesNotRun(t.Context(), p0, holdfast.ErrUnreachable)
			s.saysThatItDidNotRun(p1)
		})
	})
}

func (s stage) doesNotRun(ctx context.Context, p *sim.Link, want error) {
	err := p.Client.Once(ctx, "job", time.Hour, func(context.Context, *holdfast.Lease) error {
		s.t.Error("it runs")
		return nil
	})
	if !errors.Is(err, want) {
		s.t.Errorf("Once = %v; want %v", err, want)
	}
}

func (s stage) saysThatItDidNotRun(p *sim.Link) {
	if run, err := p.Client.LastRun(s.t.Context(), "job"); err != nil || run.Outcome != "did not run" {
		s.t.Errorf("the record says %v, %v; want that it did not run", run, err)
	}
}
