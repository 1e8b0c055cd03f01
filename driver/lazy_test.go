package driver_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// drawer is a store that answers "here", and can be closed.
type drawer struct {
	driver.Store
	sharded bool
	closed  int
}

func (d *drawer) Eval(context.Context, driver.Call) ([]string, error) { return []string{"here"}, nil }
func (d *drawer) Sharded() bool                                       { return d.sharded }
func (d *drawer) Close() error                                        { d.closed++; return nil }

// askLazy uses a store as a Client does, for a second at most.
func askLazy(t *testing.T, store driver.Store) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	got, err := store.Eval(ctx, driver.Call{})
	if took := time.Since(began); took > time.Second {
		t.Errorf("a call took %v, and had a second", took)
	}
	if err == nil && !slices.Equal(got, []string{"here"}) {
		t.Errorf("it answered %q", got)
	}
	return err
}

// A server that is off is opened by the first use after it is back, and then no more.
func TestLazyOpensAgain(t *testing.T) { synctest.Test(t, lazyOpensAgain) }

func lazyOpensAgain(t *testing.T) {
	off := errors.New("connection refused")
	opens, back := 0, false
	store := driver.Lazy(func() (driver.Store, error) {
		if opens++; !back {
			return nil, off
		}
		return &drawer{}, nil
	})
	for range 1000 {
		time.Sleep(time.Millisecond)
		if err := askLazy(t, store); !errors.Is(err, off) {
			t.Fatalf("while it is off: %v, want %v", err, off)
		}
	}
	if opens < 3 || opens > 5 {
		t.Errorf("it was opened %d times in a second, want four at most", opens)
	}
	if r := store.EvalAll(t.Context(), make([]driver.Call, 2)); len(r) != 2 || !errors.Is(r[1].Err, off) {
		t.Errorf("a pipeline while it is off: %v", r)
	}
	if r, _, err := store.EvalWait(t.Context(), make([]driver.Call, 2), 1, time.Second); len(r) != 2 || !errors.Is(r[1].Err, off) || !errors.Is(err, off) {
		t.Errorf("a pipeline with WAIT while it is off: %v, %v", r, err)
	}
	if _, err := store.Subscribe(t.Context(), "x", nil); !errors.Is(err, off) {
		t.Errorf("a subscription while it is off: %v", err)
	}
	said := 0
	for _, err := range store.Scan(t.Context(), "*") {
		if said++; !errors.Is(err, off) {
			t.Errorf("a scan while it is off: %v", err)
		}
	}
	if said != 1 {
		t.Errorf("a scan while it is off says %d things, want that it is off", said)
	}
	back, opens = true, 0
	time.Sleep(time.Second)
	for range 2 {
		if err := askLazy(t, store); err != nil {
			t.Error(err)
		}
	}
	if opens != 1 {
		t.Errorf("it was opened %d times, want once", opens)
	}
}

// An open that hangs keeps no call longer than its context, and there is only one.
func TestLazyOpenHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opens := 0
		store := driver.Lazy(func() (driver.Store, error) {
			opens++
			time.Sleep(10 * time.Second)
			return &drawer{}, nil
		})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := askLazy(t, store); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, want the end of the context", err)
				}
			})
		}
		all.Wait()
		time.Sleep(10 * time.Second)
		if err := askLazy(t, store); err != nil || opens != 1 {
			t.Errorf("%v after %d opens, want an answer after one", err, opens)
		}
	})
}

// Whatever open made is closed: before Close, after it, and what is no use.
func TestLazyCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, when := range []time.Duration{100 * time.Millisecond, 3 * time.Second} {
			made := &drawer{}
			store := driver.Lazy(func() (driver.Store, error) {
				time.Sleep(time.Second)
				return made, nil
			})
			go func() { _, _ = store.Eval(t.Context(), driver.Call{}) }()
			time.Sleep(when)
			for range 2 {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if made.closed != 1 {
				t.Errorf("closed after %v: what open made was closed %d times, want once", when, made.closed)
			}
			if err := askLazy(t, store); err == nil {
				t.Error("a closed store answers")
			}
		}
		cluster := &drawer{sharded: true}
		store := driver.Lazy(func() (driver.Store, error) { return cluster, nil })
		if err := askLazy(t, store); err == nil || cluster.closed != 1 {
			t.Errorf("a Redis Cluster: %v, closed %d times; want an error, once", err, cluster.closed)
		}
	})
}
