package sim_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Each test here breaks the network or the server in one way, and fails when what
// helps against that is taken out of the client or a script: see test/mutation.

// stage is a World in a bubble, for one test.
type stage struct {
	*sim.World
	t *testing.T
}

// play runs a test in a bubble and fails it for every promise that was broken.
func play(t *testing.T, scene func(t *testing.T, s stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := stage{sim.NewWorld(1), t}
		defer func() {
			s.Close()
			for _, b := range s.Watch.Violations() {
				t.Error(b)
			}
			if t.Failed() || testing.Verbose() {
				t.Log(s.History(200))
			}
		}()
		scene(t, s)
	})
}

func (s stage) process(owner string, ttl time.Duration) *sim.Link {
	return s.Process(owner, holdfast.Options{TTL: ttl, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1)
}

// hold is a lease and the watch over it.
type hold struct {
	*holdfast.Lease
	held *sim.Held
	s    stage
}

func (h hold) release() {
	h.s.t.Helper()
	h.s.Watch.Leaves(h.held)
	if err := h.Release(); err != nil {
		h.s.t.Errorf("Release: %v", err)
	}
}

// lock waits for a name, at most a simulated minute.
func (s stage) lock(l *sim.Link, name string) hold {
	s.t.Helper()
	h := s.Watch.Called(l, name)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	lease, err := l.Client.Mutex(name).Lock(ctx)
	if err != nil {
		s.t.Fatalf("%s locks %s: %v\n%s", l.Owner, name, err, s.History(200))
	}
	s.Watch.Granted(h, lease)
	return hold{lease, h, s}
}

// waits starts a call that waits; what it gets comes by the channel.
func (s stage) waits(l *sim.Link, name string) <-chan hold {
	got := make(chan hold, 1)
	h := s.Watch.Called(l, name)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		lease, err := l.Client.Mutex(name).Lock(ctx)
		if err != nil && l.Dead() {
			return
		}
		if err != nil {
			s.Watch.Broken("%s waits for %s: %v", l.Owner, name, err)
			close(got)
			return
		}
		s.Watch.Granted(h, lease)
		got <- hold{lease, h, s}
	}()
	time.Sleep(50 * time.Millisecond)
	return got
}

// keepsBusy has callers of a process take a name again and again, each for a
// while, so that its local line is never empty, until the test ends.
func (s stage) keepsBusy(l *sim.Link, name string, work time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	const callers = 3
	for range callers {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				h := s.Watch.Called(l, name)
				lease, err := l.Client.Mutex(name).Lock(ctx)
				if err != nil {
					return
				}
				s.Watch.Granted(h, lease)
				time.Sleep(work)
				s.Watch.Leaves(h)
				_ = lease.Release()
			}
		}()
	}
	time.Sleep(50 * time.Millisecond)
	return func() {
		cancel()
		for range callers {
			<-done
		}
	}
}

// subscribe lets a process wait once, so that its subscription is up.
func (s stage) subscribe(links ...*sim.Link) {
	s.t.Helper()
	other := s.process("other", time.Second)
	for _, l := range links {
		first := s.lock(other, "warm")
		next := s.waits(l, "warm")
		first.release()
		got := <-next
		got.release()
	}
}

// soon fails the test when nothing comes within d.
func (s stage) soon(what string, got <-chan hold, d time.Duration) hold {
	s.t.Helper()
	select {
	case h, ok := <-got:
		if ok {
			return h
		}
	case <-time.After(d):
	}
	s.t.Fatalf("%s: nothing within %v\n%s", what, d, s.History(200))
	return hold{}
}

// notBefore fails the test when something comes within d.
func (s stage) notBefore(what string, got <-chan hold, d time.Duration) {
	s.t.Helper()
	select {
	case <-got:
		s.t.Fatalf("%s: came too early\n%s", what, s.History(200))
	case <-time.After(d):
	}
}

// lookFor checks what holders believe, densely, for a while.
func (s stage) lookFor(name string, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.Look(name)
	}
}

// left are the keys of a name that are still there.
func (s stage) left(name string) (lock bool, waiters int64) {
	l, _, q := sim.Keys(name)
	waiters, _ = s.Do("ZCARD", q).(int64)
	return s.Do("GET", l) != nil, waiters
}

func (s stage) nothingLeft(name string) {
	s.t.Helper()
	if lock, waiters := s.left(name); lock || waiters > 0 {
		s.t.Errorf("%s: the lock key is there: %v, waiters: %d; want nothing left", name, lock, waiters)
	}
}

// on makes a network that is instant and perfect but for what fate says.
func (s stage) on(fate func(step sim.Step, f *sim.Fate)) {
	s.SetNetwork(func(step sim.Step) sim.Fate {
		f := sim.Fate{Out: 500 * time.Microsecond, Back: 500 * time.Microsecond}
		fate(step, &f)
		return f
	})
}

// giveUp calls Lock and ends its context after d.
func (s stage) giveUp(l *sim.Link, name string, d time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	if lease, err := l.Client.Mutex(name).Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		s.t.Fatalf("Lock = %v, %v; want the context's error", lease, err)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// giveUpLater starts a call of Lock whose context ends after d.
func (s stage) giveUpLater(l *sim.Link, name string, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	go func() {
		defer cancel()
		_, _ = l.Client.Mutex(name).Lock(ctx)
	}()
	time.Sleep(50 * time.Millisecond)
}
