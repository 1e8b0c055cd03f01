package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
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

// A steal or the end of an export that has to be sent again is not, after Close.
func TestCloseEndsWhatIsRepeated(t *testing.T) {
	const tenure = "0123456789"
	type call = func(ctx context.Context, c *holdfast.Client, exported string) error
	for what, call := range map[string]call{
		"Mutex.Steal": func(ctx context.Context, c *holdfast.Client, _ string) error {
			_, err := c.Mutex("n").Steal(ctx, tenure, reason)
			return err
		},
		"ReleaseExported": func(ctx context.Context, c *holdfast.Client, exported string) error {
			return c.ReleaseExported(ctx, exported)
		},
	} {
		play(t, func(t *testing.T, s stage) {
			p := s.process("p", 15*time.Second)
			lease, err := p.Client.Mutex("n").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text, err := lease.Export()
			if err != nil {
				t.Fatal(err)
			}
			s.SetNetwork(func(sim.Step) sim.Fate {
				return sim.Fate{Refuse: "TRYAGAIN Multiple keys request during rehashing of slot"}
			})
			home := make(chan error, 1)
			go func() { home <- call(t.Context(), p.Client, text) }()
			time.Sleep(3 * time.Second)
			_ = p.Client.Close()
			closed := time.Now()
			if err := <-home; !errors.Is(err, holdfast.ErrClosed) || time.Since(closed) > time.Second {
				t.Errorf("%s = %v, %v after Close; want ErrClosed within a second", what, err, time.Since(closed))
			}
		})
	}
}

// locker is a client of one master or of a quorum.
type locker interface {
	Mutex(name string) *holdfast.Mutex
	Multi(names ...string) *holdfast.Multi
	Election(name string) *holdfast.Election
}

// afterClose is every call of a Client that needs its store.
func afterClose(t *testing.T, c locker, exported string) map[string]func() error {
	ctx := t.Context()
	never := func(context.Context, *holdfast.Lease) error { t.Error("it ran"); return nil }
	calls := map[string]func() error{
		"Lock":          func() error { _, err := c.Mutex("n").Lock(ctx); return err },
		"TryLock":       func() error { _, err := c.Mutex("n").TryLock(ctx); return err },
		"Multi.Lock":    func() error { _, err := c.Multi("n", "m").Lock(ctx); return err },
		"Multi.TryLock": func() error { _, err := c.Multi("n", "m").TryLock(ctx); return err },
		"Campaign":      func() error { _, err := c.Election("n").Campaign(ctx, ""); return err },
		"Lead":          func() error { return holdfast.Lead(ctx, c.Election("n"), "", never) },
		"Leader":        func() error { _, err := c.Election("n").Leader(ctx); return err },
		"Do":            func() error { return holdfast.Do(ctx, c.Mutex("n"), never) },
		"Observe": func() (all error) {
			for _, err := range c.Election("n").Observe(ctx) {
				all = errors.Join(all, err)
			}
			return all
		},
	}
	master, one := c.(*holdfast.Client)
	if !one {
		return calls
	}
	maps.Copy(calls, map[string]func() error{
		"Acquire":         func() error { _, err := master.Semaphore("s", 2).Acquire(ctx, 1); return err },
		"TryAcquire":      func() error { _, err := master.Semaphore("s", 2).TryAcquire(ctx, 1); return err },
		"Resize":          func() error { return master.Semaphore("s", 2).Resize(ctx, 3) },
		"RWMutex.Lock":    func() error { _, err := master.RWMutex("rw").Lock(ctx); return err },
		"RWMutex.TryLock": func() error { _, err := master.RWMutex("rw").TryLock(ctx); return err },
		"RLock":           func() error { _, err := master.RWMutex("rw").RLock(ctx); return err },
		"TryRLock":        func() error { _, err := master.RWMutex("rw").TryRLock(ctx); return err },
		"Mutex.Steal":     func() error { _, err := master.Mutex("n").Steal(ctx, "0123456789", reason); return err },
		"Adopt":           func() error { _, err := master.Adopt(ctx, exported); return err },
		"RenewExported":   func() error { _, err := master.RenewExported(ctx, exported); return err },
		"CheckExported":   func() error { _, err := master.CheckExported(ctx, exported); return err },
		"ReleaseExported": func() error { return master.ReleaseExported(ctx, exported) },
		"Once":            func() error { return master.Once(ctx, "job", time.Minute, never) },
		"OnceEvery":       func() error { return master.OnceEvery(ctx, "job", time.Minute, time.Time{}, never) },
		"LastRun":         func() error { _, err := master.LastRun(ctx, "job"); return err },
	})
	return calls
}

// wantClosed makes each call after Close: it asks nobody and says ErrClosed.
func wantClosed(t *testing.T, calls map[string]func() error) {
	t.Helper()
	for name, call := range calls {
		if err := call(); !errors.Is(err, holdfast.ErrClosed) || errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("%s after Close: got %v, want ErrClosed", name, err)
		}
	}
}

func TestCallsAfterClose(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		text, err := s.lock(p0, "x").Export()
		if err != nil {
			t.Fatal(err)
		}
		lease := s.lock(p0, "n")
		if err := p0.Client.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // what was under way
		sent := 0
		s.on(func(sim.Step, *sim.Fate) { sent++ })
		calls := afterClose(t, p0.Client, text)
		calls["Eval"] = func() error { _, err := lease.Eval(t.Context(), "return 1", nil, nil); return err }
		calls["EnsureHeld"] = func() error { return lease.EnsureHeld(t.Context()) }
		calls["Lease.Err"] = lease.Err
		wantClosed(t, calls)
		if sent > 0 {
			t.Errorf("%d commands were sent after Close, want 0", sent)
		}
	})
}

func TestQuorumCallsAfterClose(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 15*time.Second, 1, 0, 1, 2)
		if err := p.client.Close(); err != nil {
			t.Fatal(err)
		}
		wantClosed(t, afterClose(t, p.client, ""))
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

// OnEvent may call Close when a lease is lost. The leases end at the same time as without that,
// and the first Close waits until OnEvent has all events, also while it logs an error.
func TestCloseFromOnEvent(t *testing.T) {
	for _, answered := range []bool{true, false} {
		t.Run(fmt.Sprintf("answered=%v", answered), func(t *testing.T) {
			play(t, func(t *testing.T, s stage) { closeFromOnEvent(t, s, answered) })
		})
	}
}

func closeFromOnEvent(t *testing.T, s stage, answered bool) {
	var p0 *sim.Link
	lost := 0
	closeClient := func() {
		if err := p0.Client.Close(); answered && err != nil || !answered && !errors.Is(err, holdfast.ErrUnknown) {
			t.Errorf("Close: %v", err)
		}
	}
	p0 = s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Logger: slog.New(slowHandler{slog.DiscardHandler}), OnEvent: func(e holdfast.Event) {
		if _, over := e.(holdfast.Lost); over {
			lost++
			closeClient()
		}
	}}, 1)
	for _, name := range []string{"a", "b", "c"} {
		s.Watch.Leaves(s.lock(p0, name).held)
	}
	s.on(func(_ sim.Step, f *sim.Fate) { f.LoseOut = !answered })
	longest := 500 * time.Millisecond
	if !answered {
		longest += 2 * time.Second // for answers
	}
	began := time.Now()
	closeClient()
	if took := time.Since(began); took > longest || lost != 3 {
		t.Errorf("OnEvent had %d events after %v; want 3 within %v", lost, took, longest)
	}
}

// When Close has returned, OnEvent was told all, so that nothing is missing from a journal that is
// closed behind it. It does not wait for ever.
func TestCloseTellsAll(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		told := 0
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, OnEvent: func(holdfast.Event) {
			time.Sleep(10 * time.Millisecond)
			told++
		}}, 1)
		for i := range 40 {
			s.Watch.Leaves(s.lock(p0, fmt.Sprint("n", i)).held)
		}
		if err := p0.Client.Close(); err != nil || told != 80 {
			t.Errorf("Close = %v, and OnEvent was told %d events; want 40 grants and 40 ends", err, told)
		}
		hang := make(chan struct{})
		defer close(hang)
		p1 := s.Process("p1", holdfast.Options{TTL: 15 * time.Second, OnEvent: func(holdfast.Event) { <-hang }}, 1)
		s.Watch.Leaves(s.lock(p1, "m").held)
		began := time.Now()
		_ = p1.Client.Close()
		if took := time.Since(began); took < time.Second || took > 1500*time.Millisecond {
			t.Errorf("Close took %v with an OnEvent that hangs, want 1 s", took)
		}
	})
}

// slowHandler is a log that takes a moment for a line.
type slowHandler struct{ slog.Handler }

func (slowHandler) Enabled(context.Context, slog.Level) bool { return true }
func (slowHandler) Handle(context.Context, slog.Record) error {
	time.Sleep(100 * time.Millisecond)
	return nil
}
