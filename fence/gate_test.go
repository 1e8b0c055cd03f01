package fence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
)

// stale wants a *StaleError with these tokens.
func stale(t *testing.T, what string, err error, token, newest int64) {
	t.Helper()
	got, ok := errors.AsType[*holdfast.StaleError](err)
	if !ok || got.Token != token || got.Newest != newest || !errors.Is(err, holdfast.ErrStale) {
		t.Errorf("%s: got %v, want stale: %d after %d", what, err, token, newest)
	}
}

// A Gate takes what is equal or higher, and keeps resources apart.
func TestGate(t *testing.T) {
	gate := &fence.Gate{Floor: 3}
	for _, step := range []struct {
		resource      string
		token, newest int64 // newest: what refuses it, 0 if nothing does
	}{
		{"a", 2, 3}, {"a", 3, 0}, {"a", 7, 0}, {"a", 7, 0}, {"a", 6, 7}, {"b", 6, 0}, {"a", 8, 0}, {"a", 7, 8}, {"b", 5, 6}, {"c", -1, 3},
	} {
		err := gate.Advance(step.resource, step.token)
		if step.newest > 0 {
			stale(t, fmt.Sprint(step), err, step.token, step.newest)
		} else if err != nil {
			t.Errorf("%v: got %v, want nil", step, err)
		}
	}
	if err := new(fence.Gate).Advance("a", 0); !errors.Is(err, holdfast.ErrStale) {
		t.Errorf("token 0: got %v, want stale: no lease has it", err)
	}
}

// However few resources a Gate may remember, it never takes a token below one
// that it has taken for the same resource.
func TestGateForgetsNothingStale(t *testing.T) {
	for _, limit := range []int{1, 2, 7, 50} {
		gate := &fence.Gate{Limit: limit}
		random := rand.New(rand.NewPCG(1, uint64(limit)))
		highest := map[string]int64{}
		accepted := 0
		for now := int64(1); now < 5000; now++ {
			resource := fmt.Sprint(random.IntN(100))
			token := max(1, now-random.Int64N(300))
			err := gate.Advance(resource, token)
			if err == nil && token < highest[resource] {
				t.Fatalf("limit %d: token %d of %s was taken after %d", limit, token, resource, highest[resource])
			}
			if err == nil {
				accepted++
				highest[resource] = token
			}
			if err := gate.Advance(resource, now+300); err != nil { // a grant of this moment
				t.Fatalf("limit %d: the newest token of all was refused: %v", limit, err)
			}
			highest[resource] = now + 300
		}
		if accepted == 0 {
			t.Errorf("limit %d: nothing older was ever taken: this proves nothing", limit)
		}
	}
}

// A newer token waits for the work of older ones, which get in no more; equal ones
// are inside together.
func TestGateEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := new(fence.Gate)
		enter := func(token int64) func() {
			leave, err := gate.Enter(t.Context(), "r", token)
			if err != nil {
				t.Errorf("Enter with %d: got %v, want nil", token, err)
				return func() {}
			}
			return leave
		}
		first, second := enter(1), enter(1)
		newer := make(chan func(), 1)
		go func() { newer <- enter(2) }()
		synctest.Wait()
		if len(newer) != 0 {
			t.Error("2 is inside together with 1")
		}
		_, err := gate.Enter(t.Context(), "r", 1)
		stale(t, "1 after 2 was seen", err, 1, 2)
		first()
		first() // only the first counts
		synctest.Wait()
		if len(newer) != 0 {
			t.Error("2 is inside together with the second of 1")
		}
		second()
		(<-newer)()
	})
}

// Requests that wait at a resource are let in when those inside have left, however many
// others are remembered before it has noticed.
func TestGateRemembersWaiters(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the waiter notices late
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			gate := &fence.Gate{Limit: 4}
			leave, err := gate.Enter(t.Context(), "r", 1)
			if err != nil {
				t.Fatal(err)
			}
			waiting := make(chan error, 1)
			go func() {
				_, err := gate.Enter(t.Context(), "r", 2)
				waiting <- err
			}()
			synctest.Wait()
			leave()
			for token := int64(3); token < 20; token++ {
				if err := gate.Advance(fmt.Sprint("other", token), token); err != nil {
					t.Error(err)
				}
			}
			if err := <-waiting; err != nil {
				t.Errorf("the newest token of r: got %v, want it inside", err)
			}
		})
	}
}

// A wait that was given up keeps no resource.
func TestGateForgetsAbandonedWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fence.Gate{Limit: 1}
		leave, err := gate.Enter(t.Context(), "r", 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := gate.Enter(ctx, "r", 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("2 while 1 is inside: got %v, want the context's error", err)
		}
		leave()
		for token := int64(3); token < 6; token++ {
			if err := gate.Advance(fmt.Sprint("other", token), token); err != nil {
				t.Error(err)
			}
		}
		stale(t, "3 after r was forgotten, and 4 after it", gate.Advance("r", 3), 3, 4)
	})
}

// pause sleeps for a simulated while.
func pause(random *rand.Rand) func() {
	d := time.Duration(random.Int64N(int64(time.Second)))
	return func() { time.Sleep(d) }
}

// Whatever the order and speed, the work of two tokens never overlaps, and no
// older one works after a newer one.
func TestGateOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fence.Gate{Limit: 1}
		var mu sync.Mutex
		inside, last := map[int64]int{}, int64(0)
		var all sync.WaitGroup
		random := rand.New(rand.NewPCG(3, 4))
		worked := 0
		for range 400 {
			token := 1 + random.Int64N(30)
			before, during := pause(random), pause(random)
			all.Go(func() {
				before()
				leave, err := gate.Enter(t.Context(), "r", token)
				if err != nil {
					if !errors.Is(err, holdfast.ErrStale) {
						t.Error(err)
					}
					return
				}
				defer leave()
				mu.Lock()
				if token < last {
					t.Errorf("%d works after %d", token, last)
				}
				last = token
				inside[token]++
				if len(inside) > 1 {
					t.Errorf("these work at once: %v", inside)
				}
				worked++
				mu.Unlock()
				_ = gate.Advance(fmt.Sprint("other", token), token) // may have it forget, but not who is inside
				during()
				mu.Lock()
				if inside[token]--; inside[token] == 0 {
					delete(inside, token)
				}
				mu.Unlock()
			})
		}
		all.Wait()
		if worked < 10 {
			t.Errorf("only %d worked: this proves nothing", worked)
		}
	})
}

// Who waits to enter goes home when its context ends, and is not inside.
func TestGateEnterGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := new(fence.Gate)
		leave, err := gate.Enter(t.Context(), "r", 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := gate.Enter(ctx, "r", 2); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		leave()
		again, err := gate.Enter(t.Context(), "r", 3)
		if err != nil {
			t.Fatalf("after all have left: got %v, want nil", err)
		}
		again()
	})
}
