package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// bubbleClient makes a Client that ends with the test. A bubble ends only when all
// its goroutines have.
func bubbleClient(t *testing.T, store driver.Store, options *holdfast.Options) *holdfast.Client {
	t.Helper()
	client := holdfast.New(store, options)
	t.Cleanup(func() { _ = client.Close() }) // of a store that does not answer, ErrUnknown
	return client
}

// A lease is renewed for as long as the bubble's clock says, however short the test is.
func TestRenewedInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		holder, other := bubbleClient(t, store, nil), bubbleClient(t, store, nil)
		lease, err := holder.Mutex("invoice:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 10 * 60 / 7 {
			time.Sleep(7 * time.Second)
			if _, err := other.Mutex("invoice:42").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
				t.Fatalf("got %v from TryLock while the lease is held, want ErrHeld", err)
			}
			if err := lease.Err(); err != nil {
				t.Fatal(err)
			}
			if left := lease.Remaining(); left < 9*time.Second || left > 15*time.Second {
				t.Fatalf("%v remain of a ttl of 15 s that is renewed each third of it", left)
			}
		}
		want(t, lease.Release(), error(nil))
		next, err := other.Mutex("invoice:42").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want(t, next.Token() > lease.Token(), true)
		want(t, next.Release(), error(nil))
	})
}

// A key that somebody deletes is noticed with the next renewal.
func TestLostInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		lease, err := bubbleClient(t, store, nil).Mutex("invoice:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		work := lease.Context(context.Background())
		time.Sleep(time.Minute)
		want(t, lease.Err(), error(nil))
		do(t, store, "DEL", "holdfast:invoice:42")
		began := time.Now()
		<-work.Done()
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the loss was noticed after %v, want within a third of the ttl", took)
		}
		lost, ok := errors.AsType[*holdfast.LostError](context.Cause(work))
		if !ok || lost.Cause != holdfast.Gone {
			t.Errorf("got cause %v, want Gone", context.Cause(work))
		}
	})
}

// The examples of a user's own tests are tests.
func TestYourOwnCode(t *testing.T) {
	t.Run("lost", stopsWhenTheLeaseIsLost)
	t.Run("dead", takesOverFromTheDead)
	t.Run("no answer", givesUpWithoutRedis)
}

// A connection that was cut holds up calls, ends subscriptions, and comes back.
func TestConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t).Connect()
		sub, err := c.Subscribe(t.Context(), "c", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		c.Disconnect()
		c.Disconnect()
		<-sub.Done()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Eval(ctx, driver.Call{Script: count, Args: []string{"c"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v from a call on a connection that is cut, want DeadlineExceeded", err)
		}
		go func() { time.Sleep(time.Minute); c.Reconnect(); c.Reconnect() }()
		began := time.Now()
		if _, err := c.Eval(t.Context(), driver.Call{Script: count, Args: []string{"c"}}); err != nil {
			t.Error(err)
		}
		want(t, time.Since(began), time.Minute)
		for _, err := range c.Scan(t.Context(), "*") {
			want(t, err, error(nil))
		}
	})
}
