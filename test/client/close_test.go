//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Close ends what is held and waited for, and nothing of it is left in Redis
// when it returns.
func TestCloseEndsEverything(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	a := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long})
	b := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long})
	held := []string{"h0", "h1", "h2", "h3", "h4"}
	var leases []*holdfast.Lease
	var contexts []context.Context
	var waiting []clienttest.Asked
	for _, name := range held {
		leases = append(leases, clienttest.Take(t, a, name))
		contexts = append(contexts, leases[len(leases)-1].Context(t.Context()))
		waiting = append(waiting, clienttest.Asking(t.Context(), a.Mutex(name))) // behind its own lease
	}
	foreign := clienttest.Take(t, b, "f")
	for range 3 {
		waiting = append(waiting, clienttest.Asking(t.Context(), a.Mutex("f")))
	}
	clienttest.InQueue(t, server, "f", "A")
	next := clienttest.Asking(t.Context(), b.Mutex("h0"))
	clienttest.InQueue(t, server, "h0", "B")

	clienttest.CloseWell(t, a)
	for _, name := range held[1:] {
		if !clienttest.Gone(t, server, name) {
			t.Errorf("%s is still there", name)
		}
	}
	if got := server.MustDo(t, "ZCARD", clienttest.QueueKey("f")); got != "0" {
		t.Errorf("%s wait in the queue for f, want nobody", got)
	}
	for i, lease := range leases {
		clienttest.LostBy(t, lease.Err(), holdfast.Closed)
		clienttest.Closed(t, "the lease is done", lease.Done())
		clienttest.Closed(t, "its context has ended", contexts[i].Done())
		clienttest.LostBy(t, context.Cause(contexts[i]), holdfast.Closed)
		clienttest.LostBy(t, lease.Release(), holdfast.Closed)
		if !errors.Is(lease.Err(), holdfast.ErrClosed) {
			t.Errorf("got %v, want it to be ErrClosed too", lease.Err())
		}
	}
	for _, w := range waiting {
		w.Refused(t, holdfast.ErrClosed)
	}
	clienttest.GiveBack(t, next.Lease(t)) // was handed over
	for _, name := range held {
		lease, err := b.Mutex(name).TryLock(t.Context())
		if err != nil {
			t.Errorf("%s: got %v, want it to be free", name, err)
			continue
		}
		clienttest.GiveBack(t, lease)
	}
	clienttest.GiveBack(t, foreign)
}

// Close in the midst of calls: each gets an error, or a lease that is lost, and
// whatever was in flight is undone when it returns.
func TestCloseInFlight(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	proxy := redistest.StartProxy(t, server.Addr())
	proxy.Delay(time.Millisecond)
	store := clienttest.OpenStore(t, "redis://"+proxy.Addr(), nil)
	for round := range 40 {
		client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: clienttest.Long})
		var calls []clienttest.Asked
		for i := range 30 {
			calls = append(calls, clienttest.Asking(t.Context(), client.Mutex(fmt.Sprint("n", i%15)))) // two for each
		}
		time.Sleep(time.Duration(round) * 100 * time.Microsecond) // another moment each time
		clienttest.CloseWell(t, client)
		for i := range 15 {
			if name := fmt.Sprint("n", i); !clienttest.Gone(t, server, name) {
				t.Fatalf("round %d: %s is left behind", round, name)
			}
		}
		for _, call := range calls {
			if o := call.Answer(t); o.Err == nil {
				clienttest.LostBy(t, o.Lease.Err(), holdfast.Closed)
			} else if !errors.Is(o.Err, holdfast.ErrClosed) {
				t.Errorf("round %d: got %v, want ErrClosed", round, o.Err)
			}
		}
	}
}

// Close does not wait for a server that does not answer, and says so.
func TestCloseWhileTheServerIsFrozen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	book := &clienttest.Logbook{}
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long, Logger: book.Logger()})
	lease := clienttest.Take(t, client, "held")
	waiting := clienttest.Asking(t.Context(), client.Mutex("held"))
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	err := clienttest.Bounded(t, "Close", client.Close)
	if !errors.Is(err, holdfast.ErrUnknown) {
		t.Errorf("close: got %v, want ErrUnknown", err)
	}
	if book.String() == "" {
		t.Error("log: got nothing, want a word about it")
	}
	clienttest.LostBy(t, lease.Err(), holdfast.Closed)
	waiting.Refused(t, holdfast.ErrClosed)
	if again := client.Close(); !errors.Is(again, holdfast.ErrUnknown) {
		t.Errorf("a second close: got %v, want ErrUnknown again", again)
	}
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
}

// After Close every call says so, and a second Close is nothing where the first was good.
func TestClosedClient(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{})
	ctx := clienttest.Take(t, client, "n").Context(t.Context())
	clienttest.CloseWell(t, client)
	clienttest.CloseWell(t, client)
	mutex := client.Mutex("n")
	if _, err := mutex.Lock(t.Context()); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("Lock: got %v, want ErrClosed", err)
	}
	if _, err := mutex.TryLock(t.Context()); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("TryLock: got %v, want ErrClosed", err)
	}
	if got := context.Cause(ctx); !errors.Is(got, holdfast.ErrClosed) {
		t.Errorf("cause: got %v, want ErrClosed", got)
	}
}

// A wait that was given up just before Close leaves no waiter behind: its
// cancel may still be under way.
func TestCloseAfterAWaitWasGivenUp(t *testing.T) {
	const name = "given-up"
	server := redistest.Start(t, redistest.Options{})
	lease := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long}), name)
	store := clienttest.OpenStore(t, server.URL(), nil)
	for round := range 40 {
		client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: clienttest.Long})
		ctx, cancel := context.WithCancel(t.Context())
		waiting := clienttest.Asking(ctx, client.Mutex(name))
		if round%2 == 0 { // else it is under way itself
			clienttest.InQueue(t, server, name, "A")
		} else {
			time.Sleep(time.Duration(round) * 50 * time.Microsecond)
		}
		cancel()
		waiting.Refused(t, context.Canceled)
		clienttest.CloseWell(t, client)
		if got := server.MustDo(t, "ZCARD", clienttest.QueueKey(name)); got != "0" {
			t.Fatalf("round %d: %s are left in the queue, want nobody", round, got)
		}
	}
	clienttest.GiveBack(t, lease)
}

// The clean-up of a wait that was given up during an outage is between two tries
// when the store is back: Close does not leave it at that.
func TestCloseAfterAnOutage(t *testing.T) {
	const name = "given-up-offline"
	server := redistest.Start(t, redistest.Options{})
	lease := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long}), name)
	client, proxy := distant(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := clienttest.Asking(ctx, client.Mutex(name))
	clienttest.InQueue(t, server, name, "A")
	proxy.Refuse()
	cancel()
	waiting.Refused(t, context.Canceled)
	time.Sleep(2 * time.Second) // by then seconds lie between two tries
	proxy.Pass()
	clienttest.CloseWell(t, client)
	if got := server.MustDo(t, "ZCARD", clienttest.QueueKey(name)); got != "0" {
		t.Errorf("%s are left in the queue, want nobody", got)
	}
	clienttest.GiveBack(t, lease)
}

// Close while a release is under way that queues the process again for callers
// who came after the recall.
func TestCloseWhileItReleases(t *testing.T) {
	const name = "leaving"
	server := redistest.Start(t, redistest.Options{})
	b := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long})
	proxy := redistest.StartProxy(t, server.Addr())
	proxy.Delay(2 * time.Millisecond)
	store := clienttest.OpenStore(t, "redis://"+proxy.Addr(), nil)
	for round := range 30 {
		j := &clienttest.Journal{}
		client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: clienttest.Long, OnEvent: j.Note})
		lease := clienttest.Take(t, client, name)
		second := clienttest.Asking(t.Context(), client.Mutex(name)) // for whom A listens
		clienttest.Eventually(t, "A listens, and knows it", func() bool { return len(clienttest.EventsOf[holdfast.Renewed](j)) > 0 })
		next := clienttest.Asking(t.Context(), b.Mutex(name))
		clienttest.Eventually(t, "A is recalled", func() bool { return len(clienttest.EventsOf[holdfast.Recalled](j)) > 0 })
		third := clienttest.Asking(t.Context(), client.Mutex(name))
		clienttest.GiveBack(t, lease)
		lease = second.Lease(t)
		released := make(chan error, 1)
		go func() { released <- lease.Release() }()
		time.Sleep(time.Duration(round) * 200 * time.Microsecond) // another moment each time
		clienttest.CloseWell(t, client)
		if err := <-released; err != nil && !errors.Is(err, holdfast.ErrUnknown) && !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("release: got %v, want nil, ErrUnknown or ErrLost", err)
		}
		third.Refused(t, holdfast.ErrClosed)
		turn := next.Lease(t)
		if got := server.MustDo(t, "ZCARD", clienttest.QueueKey(name)); got != "0" {
			t.Fatalf("round %d: %s are left in the queue, want nobody", round, got)
		}
		clienttest.GiveBack(t, turn)
		if !clienttest.Gone(t, server, name) {
			t.Fatalf("round %d: %s is left behind", round, name)
		}
	}
}
