package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// Testing your own code: each test runs in a testing/synctest bubble, where minutes pass
// at once. The store, the clients and their Close belong inside the bubble.
func Example_testing() {
	// In a package of yours these are tests: func TestStopsWhenTheLeaseIsLost(t *testing.T).
	_ = []testing.InternalTest{
		{Name: "a lease that is lost", F: stopsWhenTheLeaseIsLost},
		{Name: "a holder that dies", F: takesOverFromTheDead},
		{Name: "a Redis that does not answer", F: givesUpWithoutRedis},
	}
}

// A lease is lost on purpose: the key is deleted, and the work must stop.
func stopsWhenTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		defer store.Close()
		client := holdfast.New(store, nil)
		defer client.Close()

		lease, err := client.Mutex("invoice:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		work := lease.Context(t.Context())
		time.Sleep(time.Minute) // it is renewed all the while
		if work.Err() != nil {
			t.Fatal("the lease ended by itself")
		}

		if _, err := store.Do("DEL", "holdfast:invoice:42"); err != nil {
			t.Fatal(err)
		}
		<-work.Done() // with the next renewal
		if cause := context.Cause(work); !errors.Is(cause, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", cause)
		}
	})
}

// A holder dies: the next one gets the name when the TTL has passed, and the holder, should
// it live on, has stopped before.
func takesOverFromTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		defer store.Close()
		connection := store.Connect()
		dead, next := holdfast.New(connection, nil), holdfast.New(store, nil)
		defer dead.Close()
		defer next.Close()

		held, err := dead.Mutex("invoice:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		connection.Disconnect()
		began := time.Now()
		lease, err := next.Mutex("invoice:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 16*time.Second {
			t.Errorf("it waited %v, want a TTL of 15 s and a moment", took)
		}
		if !errors.Is(held.Err(), holdfast.ErrLost) || lease.Token() <= held.Token() {
			t.Errorf("two hold the name, or the token does not rise: %v", held.Err())
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

// Redis does not answer: Lock says so after a TTL, and works again later.
func givesUpWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		defer store.Close()
		connection := store.Connect()
		client := holdfast.New(connection, nil)
		defer client.Close()

		connection.Disconnect()
		if _, err := client.Mutex("invoice:42").Lock(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("got %v, want ErrUnreachable", err)
		}
		connection.Reconnect()
		lease, err := client.Mutex("invoice:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}
