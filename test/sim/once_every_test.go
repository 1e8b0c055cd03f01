package sim_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// tick calls OnceEvery with a job that takes some time and notes its beginnings.
func (s stage) tick(l *sim.Link, period time.Duration, at time.Time, work time.Duration, began func()) error {
	return l.Client.OnceEvery(s.t.Context(), "job", period, at, func(ctx context.Context, _ *holdfast.Lease) error {
		began()
		select {
		case <-time.After(work):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// ticks calls OnceEvery, which must begin a run, or must find it not due.
func (s stage) ticks(l *sim.Link, period time.Duration, want bool) {
	s.t.Helper()
	ran := false
	err := s.tick(l, period, time.Time{}, 0, func() { ran = true })
	if ran != want || want && err != nil || !want && !errors.Is(err, holdfast.ErrNotDue) {
		s.t.Errorf("OnceEvery = %v, ran: %v; want a run: %v", err, ran, want)
	}
}

func nextTick(period time.Duration) { time.Sleep(time.Until(time.Now().Truncate(period).Add(period))) }

// Machines whose clocks differ by up to a tenth of the period, or 30 s, start the
// same line by their clocks, and each start is early or late by as much again. Each tick
// begins exactly once.
func TestOnceEveryBeginsEachTick(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for _, given := range []bool{true, false} {
		for _, machines := range []int{1, 5} {
			for seed := range uint64(4) {
				play(t, func(t *testing.T, s stage) { s.hundredTicks(3*time.Second, given, machines, seed) })
			}
		}
	}
	for _, period := range []time.Duration{time.Minute, time.Hour} {
		play(t, func(t *testing.T, s stage) { s.hundredTicks(period, false, 3, 0) })
	}
}

func (s stage) hundredTicks(period time.Duration, given bool, machines int, seed uint64) {
	const n = 100
	r, off := rand.New(rand.NewPCG(seed, 30)), min(period/10, 30*time.Second)
	first := time.Now().Truncate(period).Add(period + period/3)
	var at time.Time
	if given {
		at = first.Add(-7 * period)
	}
	begun := make([]atomic.Int32, n)
	var all sync.WaitGroup
	for i := range machines {
		l := s.Process("p"+itoa(int64(i)), holdfast.Options{TTL: time.Second}, 1)
		clock := time.Duration(r.Int64N(2*int64(off))) - off
		if i < 2 && seed%2 == 0 { // as wrong as may be, in both directions
			clock = time.Duration(2*i-1) * off * 999 / 1000
		}
		for k := range n {
			late := time.Duration(r.Int64N(2*int64(off))) - off
			if seed == 0 {
				late = clock
			}
			work := time.Duration(r.Int64N(int64(min(period/2, 2*time.Second))))
			all.Go(func() {
				time.Sleep(time.Until(first.Add(time.Duration(k)*period + clock + late)))
				err := s.tick(l, period, at, work, func() { begun[k].Add(1) })
				if err != nil && !errors.Is(err, holdfast.ErrNotDue) {
					s.Watch.Broken("OnceEvery = %v", err)
				}
			})
		}
	}
	all.Wait()
	for k := range begun {
		if got := begun[k].Load(); got != 1 {
			s.t.Errorf("period %v, at given: %v, %d machines, seed %d: tick %d began %d times; want once", period, given, machines, seed, k, got)
		}
	}
}

// A run that is killed is not repeated, the others learn of it, and so does the process that begins
// the next tick.
func TestOnceEveryKilled(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		var log logged
		p0, p1 := s.process("p0", time.Second), s.Process("p1", holdfast.Options{TTL: time.Second, Logger: slog.New(&log)}, 1)
		nextTick(time.Minute)
		go func() { _ = s.tick(p0, time.Minute, time.Time{}, 20*time.Second, func() {}) }()
		time.Sleep(5 * time.Second)
		p0.Kill()
		for range 24 {
			e := s.notDue(s.tick(p1, time.Minute, time.Time{}, 0, func() { t.Error("it runs twice") }))
			if e.Last == nil || e.Last.Owner != "p0" || !e.TickBegun || !e.Last.Ended.IsZero() || !strings.Contains(e.Error(), "has not ended") {
				t.Errorf("got %v; want a run of p0 without an end", e)
			}
			time.Sleep(time.Second)
		}
		if log.count("has not ended") != 0 {
			t.Error("it is warned of before the next tick")
		}
		nextTick(time.Minute)
		s.ticks(p1, time.Minute, true)
		if log.count("has not ended") != 1 {
			t.Error("the call that began the next tick did not warn of the killed run")
		}
	})
}

// logged keeps the messages of a logger.
type logged struct {
	mu   sync.Mutex
	said []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }
func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, r.Message)
	return nil
}

func (l *logged) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, said := range l.said {
		if strings.Contains(said, part) {
			n++
		}
	}
	return n
}

// A timer that fires much more often than the period is a mistake that no error shows: half of the
// calls do nothing. It is warned of once. A call for each tick, and a call that repeats a run, is
// none.
func TestOnceEveryTooOften(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		var log logged
		p := s.Process("p", holdfast.Options{TTL: time.Second, Logger: slog.New(&log)}, 1)
		call := func(name string, every time.Duration, result error) {
			for range 15 {
				err := p.Client.OnceEvery(t.Context(), name, 10*time.Second, time.Time{}, func(context.Context, *holdfast.Lease) error { return result })
				if err != nil && !errors.Is(err, holdfast.ErrNotDue) && result == nil {
					t.Errorf("OnceEvery = %v", err)
				}
				time.Sleep(every)
			}
		}
		call("right", 10*time.Second, nil)
		call("repeated", time.Second, holdfast.Retryable(errors.New("not now")))
		if got := log.count("much more often"); got != 0 {
			t.Errorf("got %d warnings of calls that are right, want 0", got)
		}
		call("wrong", 2*time.Second, nil)
		call("also wrong", 2*time.Second, nil)
		if got := log.count("much more often"); got != 2 {
			t.Errorf("got %d warnings of two names that are called five times in a period, want 2", got)
		}
	})
}

// A process dies in the moment in which it begins: either the record says that it has
// begun, or another begins the tick. There is nothing in between.
func TestOnceEveryDiesAtItsBeginning(t *testing.T) {
	for _, ran := range []bool{false, true} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Process == 0 && step.Kind == "once_lock" {
					f.LoseOut, f.LoseBack = !ran, ran
					time.AfterFunc(10*time.Millisecond, p0.Kill)
				}
			})
			go func() { _ = s.tick(p0, time.Minute, time.Time{}, 0, func() { t.Error("it is dead") }) }()
			time.Sleep(3 * time.Second)
			s.ticks(p1, time.Minute, !ran)
			if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || run.Ended.IsZero() != ran {
				t.Errorf("LastRun = %+v, %v; want one without an end: %v", run, err, ran)
			}
		})
	}
}

// Another period, or another phase, is told, no matter who sets it.
func TestOnceEveryAnotherSchedule(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		nextTick(time.Hour)
		first := time.Now()
		s.ticks(p0, time.Hour, true)
		wrong := func(period time.Duration, at time.Time) {
			t.Helper()
			err := s.tick(p1, period, at, 0, func() { t.Error("it runs") })
			e, ok := errors.AsType[*holdfast.ScheduleError](err)
			if !ok || !errors.Is(err, holdfast.ErrSchedule) || e.Every != time.Hour || e.At.Sub(first).Abs()%time.Hour > time.Second || !strings.Contains(e.Error(), "holdfast/once:{") {
				t.Errorf("OnceEvery = %v; want ErrSchedule with a period of 1 h and a tick at %v", err, first)
			}
		}
		run, err := p0.Client.LastRun(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			wrong(2*time.Hour, time.Time{})
			wrong(30*time.Minute, run.Tick)
			wrong(time.Hour, run.Tick.Add(time.Millisecond))
			if err := s.tick(p1, time.Hour, run.Tick.Add(-40*time.Hour), 0, func() {}); err != nil && !errors.Is(err, holdfast.ErrNotDue) {
				t.Errorf("the same phase by an earlier tick: %v", err)
			}
			nextTick(time.Hour)
		}
		if err := p1.Client.Once(t.Context(), "job", time.Minute, func(context.Context, *holdfast.Lease) error {
			t.Error("it runs")
			return nil
		}); !errors.Is(err, holdfast.ErrSchedule) {
			t.Errorf("Once of a name with a schedule = %v; want ErrSchedule", err)
		}
	})
}

// Two that start first, with different phases, in the same moment: one sets the schedule.
func TestOnceEveryTwoAreFirst(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "once_lock" && step.Process == 1 {
				f.Out = 300 * time.Millisecond // behind the end of the other's run
			}
		})
		done := make(chan error)
		go func() { done <- s.tick(p1, time.Minute, time.Time{}, 0, func() { t.Error("it runs twice") }) }()
		time.Sleep(10 * time.Millisecond)
		s.ticks(p0, time.Minute, true)
		if e := s.notDue(<-done); e.Running || e.Last == nil || e.Last.Owner != "p0" {
			t.Errorf("got %+v; want that p0 ran it", e)
		}
		s.on(func(sim.Step, *sim.Fate) {})
		s.ticks(p1, time.Minute, false)
	})
}

// A run that is longer than the period: starts meanwhile skip. A start behind it begins
// the tick that is nearest then.
func TestOnceEveryLongRun(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		nextTick(time.Minute)
		first := time.Now()
		done := make(chan error)
		go func() { done <- s.tick(p0, time.Minute, first, 2*time.Minute+5*time.Second, func() {}) }()
		for range 2 {
			nextTick(time.Minute)
			if e := s.notDue(s.tick(p1, time.Minute, first, 0, func() { t.Error("two at a time") })); !e.Running || e.TickBegun || e.Owner != "p0" {
				t.Errorf("got %+v; want that p0 runs an older tick", e)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		ran := false
		if err := s.tick(p1, time.Minute, first, 0, func() { ran = true }); err != nil || !ran {
			t.Errorf("OnceEvery = %v, ran: %v; want a run", err, ran)
		}
		if run, err := p1.Client.LastRun(t.Context(), "job"); err != nil || !run.Tick.Equal(first.Add(2*time.Minute)) || run.Outcome != holdfast.Done {
			t.Errorf("LastRun = %+v, %v; want the tick at %v", run, err, first.Add(2*time.Minute))
		}
		e := s.notDue(s.tick(p1, time.Minute, first, 0, func() { t.Error("it runs twice") }))
		if want := time.Until(first.Add(3 * time.Minute)); e.Running || !e.TickBegun || (e.DueIn-want).Abs() > 100*time.Millisecond {
			t.Errorf("got %+v; want it due in %v", e, want)
		}
	})
}
