//go:build !race

package holdfast_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// yielding grants each part of a shared lock, but calls what is to come before
// that, and takes all back.
type yielding struct{ before func() }

func (s *yielding) Eval(_ context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name == "shared_lock" {
		s.before()
		return []string{"granted 3527400000000063 1 0 1763700000 0"}, nil
	}
	return []string{"released"}, nil
}

func (s *yielding) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s *yielding) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *yielding) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, io.EOF
}

func (s *yielding) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *yielding) Sharded() bool                                         { return false }

// heap is what is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// However often a process takes permits, it remembers of each time no more than
// the id, for a while and up to a number, whether it held them or gave up.
func TestRememberedIDsAreSmall(t *testing.T) { synctest.Test(t, rememberedIDsAreSmall) }

// rememberedIDsAreSmall runs in simulated time: a call that gives up waits 20 ms for a late answer.
func rememberedIDsAreSmall(t *testing.T) {
	store := &yielding{before: func() {}}
	client := holdfast.New(store, &holdfast.Options{Logger: slog.New(slog.DiscardHandler)})
	defer func() { _ = client.Close() }()
	sem := client.Semaphore("invoice:42", 8)
	hold := func() {
		lease, err := sem.Acquire(t.Context(), 1)
		if err == nil {
			err = lease.Release()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	giveUp := func() {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		store.before = func() { cancel(); <-gone } // the answer comes too late
		if _, err := sem.Acquire(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want the context's error", err)
		}
		close(gone)
	}
	const many = 8000
	for _, test := range []struct {
		what string
		f    func()
		n    int64 // how many ids are remembered
	}{
		{"held", hold, 1 << 12}, {"given up", giveUp, many},
	} {
		for range 100 {
			test.f()
		}
		before := heap()
		for range many {
			test.f()
		}
		// Late answers may still be on their way.
		per := (heap() - before) / test.n
		for range 100 {
			if per < 600 {
				break
			}
			time.Sleep(10 * time.Millisecond)
			per = (heap() - before) / test.n
		}
		t.Logf("%s: %d bytes for each of %d ids", test.what, per, test.n)
		if per >= 600 {
			t.Errorf("%s: %d bytes for each id that is remembered, want less than 600: no line is kept with it", test.what, per)
		}
	}
}

// While nobody answers, a process goes on to cancel each id that it gave up, but no
// more of them than it remembers.
func TestCancelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 16
		store, client := onSilence(func() error { return io.EOF })
		for range most + 10 {
			store.giveUp(t, client, func() {})
		}
		synctest.Wait()
		_ = client.Close()
		if got := len(store.closed); got != most {
			t.Errorf("Close cancelled %d ids, want the newest %d", got, most)
		}
		for id, n := range store.closed {
			if n > 1 {
				t.Fatalf("Close cancelled %s %d times, want once", id, n)
			}
		}
	})
}
