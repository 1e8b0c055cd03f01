//go:build unix

// Package client_test tests one feature after the other on real servers, with several
// Clients in one process.
package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
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

// distant starts a client A behind a proxy, with its connection made.
func distant(t *testing.T, server *redistest.Server) (*holdfast.Client, *redistest.Proxy) {
	t.Helper()
	proxy := redistest.StartProxy(t, server.Addr())
	store := clienttest.OpenStore(t, "redis://"+proxy.Addr(), nil)
	client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: clienttest.Long})
	t.Cleanup(func() { _ = client.Close() }) // the proxy may not let anything through
	clienttest.GiveBack(t, clienttest.Take(t, client, "warm"))
	return client, proxy
}

// The answer of a release does not come: the error says that nobody knows, in
// bounded time, and the name is released in the background.
func TestReleaseAnswerLost(t *testing.T) {
	const name = "left-unheard"
	server := redistest.Start(t, redistest.Options{})
	client, proxy := distant(t, server)
	lease := clienttest.Take(t, client, name)
	proxy.Hold()
	err := clienttest.Bounded(t, "Release", lease.Release)
	if !errors.Is(err, holdfast.ErrUnknown) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("release: got %v, want ErrUnknown", err)
	}
	if again := lease.Release(); !errors.Is(again, holdfast.ErrUnknown) {
		t.Errorf("release once more: got %v, want the same", again)
	}
	if got := clienttest.Holder(t, server, name); got != "A" {
		t.Fatalf("holder: got %q, want A: nothing got through", got)
	}
	proxy.Cut() // the request is lost
	proxy.Pass()
	clienttest.NothingLeftSoon(t, server, name, "warm")
	clienttest.GiveBack(t, clienttest.Take(t, client, name))
}
