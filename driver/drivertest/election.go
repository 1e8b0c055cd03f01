package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast"
)

// election is the mutex by another name: one leads at a time, in the order of
// campaigning, in rising terms.
func election(t *testing.T, s suite) {
	first := s.client(t, 0)
	leader, err := first.Election("led").Campaign(bounded(t), "first")
	if err != nil {
		t.Fatal(err)
	}
	const n = 4
	var inside, last atomic.Int64
	last.Store(leader.Token())
	order := make(chan string, n)
	var wg sync.WaitGroup
	for i := range n {
		c := first
		if i%2 == 0 { // the others are candidates of one process
			c = s.client(t, 0)
		}
		value := fmt.Sprint("candidate ", i)
		wg.Go(func() {
			lease, err := c.Election("led").Campaign(bounded(t), value)
			if err != nil {
				t.Errorf("%s: %v", value, err)
				return
			}
			if inside.Add(1) != 1 || last.Swap(lease.Token()) >= lease.Token() {
				t.Error("two lead, or a term that did not rise")
			}
			seen, err := first.Election("led").Leader(bounded(t))
			if err != nil || seen.Value != value || seen.Term != 0 && seen.Term != lease.Token() {
				t.Errorf("Leader: got %+v, %v, want %s with term %d", seen, err, value, lease.Token())
			}
			order <- value
			inside.Add(-1)
			if err := lease.Release(); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
		waiting(t, first, "led", i+1)
	}
	if _, err := first.Mutex("led").TryLock(bounded(t)); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("TryLock of a name that is led: got %v, want ErrHeld", err)
	}
	release(t, leader)
	wg.Wait()
	close(order)
	i := 0
	for got := range order {
		if want := fmt.Sprint("candidate ", i); got != want {
			t.Errorf("leader %d: got %s, want %s", i, got, want)
		}
		i++
	}
	if seen, err := first.Election("led").Leader(bounded(t)); err != nil || !seen.None() {
		t.Errorf("Leader: got %+v, %v, want no leader", seen, err)
	}
}

// observe: an observer sees each change in order, also a proclaimed value, and a term that goes
// on in another Client.
func observe(t *testing.T, s suite) {
	a, b := s.client(t, 0), s.client(t, 0)
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	told := make(chan holdfast.Leader)
	go func() {
		defer close(told)
		for leader, err := range b.Election("seen").Observe(ctx) {
			if err != nil {
				t.Errorf("Observe: %v", err)
			}
			select {
			case told <- leader:
			case <-ctx.Done():
			}
		}
	}()
	next := func(value string, term int64) {
		t.Helper()
		for {
			got, ok := <-told
			if ok && got.Value == value && got.Term == 0 && term > 0 {
				continue // its term comes at once
			}
			if !ok || got.Value != value || got.Term != term {
				t.Fatalf("Observe: got %+v, want %q with term %d", got, value, term)
			}
			return
		}
	}
	next("", 0)
	for range 3 {
		lease, err := a.Election("seen").Campaign(bounded(t), "a")
		if err != nil {
			t.Fatal(err)
		}
		next("a", lease.Token())
		if err := lease.Proclaim(bounded(t), "b"); err != nil {
			t.Fatalf("Proclaim: %v", err)
		}
		next("b", lease.Token())
		text, err := lease.Export()
		if err != nil {
			t.Fatalf("Export: %v", err)
		}
		if lease, err = b.Adopt(bounded(t), text); err != nil {
			t.Fatalf("Adopt: %v", err)
		}
		next("b", lease.Token())
		release(t, lease)
		next("", 0)
	}
	cancel()
	for range told { // it ends
		continue
	}
}

// multi locks all names or none, in each order of the names.
func multi(t *testing.T, s suite) {
	a, b := s.client(t, 0), s.client(t, 0)
	var inside atomic.Int64
	var wg sync.WaitGroup
	for i, names := range [][]string{{"m1", "m2", "m3"}, {"m3", "m2"}, {"m2", "m3", "m1"}, {"m1", "m3"}} {
		c := []*holdfast.Client{a, b}[i%2]
		wg.Go(func() {
			for range 5 {
				lease, err := c.Multi(names...).Lock(bounded(t))
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold m3")
				}
				inside.Add(-1)
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	held := lock(t, a.Mutex("m3"))
	if _, err := b.Multi("m1", "m2", "m3").TryLock(bounded(t)); !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("TryLock: got %v, want ErrHeld", err)
	}
	both, err := a.Multi("m1", "m2").TryLock(bounded(t))
	if err != nil {
		t.Fatalf("TryLock of what another try has given back: %v", err)
	}
	if err := both.Release(); err != nil {
		t.Error(err)
	}
	release(t, held)
}
