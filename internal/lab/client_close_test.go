//go:build unix

package lab_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

func closeWell(t *testing.T, client *holdfast.Client) {
	t.Helper()
	if err := client.Close(); err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
}

// Close ends what is held and waited for, and nothing of it is left in Redis
// when it returns.
func TestCloseEndsEverything(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	a := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: long})
	b := open(t, server.URL(), holdfast.Options{Owner: "B", TTL: long})
	held := []string{"h0", "h1", "h2", "h3", "h4"}
	var leases []*holdfast.Lease
	var contexts []context.Context
	var waiting []asked
	for _, name := range held {
		leases = append(leases, take(t, a, name))
		contexts = append(contexts, leases[len(leases)-1].Context(t.Context()))
		waiting = append(waiting, asking(t.Context(), a.Mutex(name))) // behind its own lease
	}
	foreign := take(t, b, "f")
	for range 3 {
		waiting = append(waiting, asking(t.Context(), a.Mutex("f")))
	}
	inLine(t, server, "f", "A")
	next := asking(t.Context(), b.Mutex("h0"))
	inLine(t, server, "h0", "B")

	closeWell(t, a)
	for _, name := range held[1:] {
		if !gone(t, server, name) {
			t.Errorf("%s is still there", name)
		}
	}
	if got := server.MustDo(t, "ZCARD", keyQ("f")); got != "0" {
		t.Errorf("%s stand in line for f, want nobody", got)
	}
	for i, lease := range leases {
		lostBy(t, lease.Err(), holdfast.Closed)
		closed(t, "the lease is done", lease.Done())
		closed(t, "its context has ended", contexts[i].Done())
		lostBy(t, context.Cause(contexts[i]), holdfast.Closed)
		lostBy(t, lease.Release(), holdfast.Closed)
		if !errors.Is(lease.Err(), holdfast.ErrClosed) {
			t.Errorf("got %v, want it to be ErrClosed too", lease.Err())
		}
	}
	for _, w := range waiting {
		w.refused(t, holdfast.ErrClosed)
	}
	giveBack(t, next.lease(t)) // was handed over
	for _, name := range held {
		lease, err := b.Mutex(name).TryLock(t.Context())
		if err != nil {
			t.Errorf("%s: got %v, want it to be free", name, err)
			continue
		}
		giveBack(t, lease)
	}
	giveBack(t, foreign)
}

// Close in the midst of calls: each gets an error, or a lease that is lost, and
// whatever was in flight is undone when it returns.
func TestCloseInFlight(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	proxy := redistest.StartProxy(t, server.Addr())
	proxy.Delay(time.Millisecond)
	store := openStore(t, "redis://"+proxy.Addr(), nil)
	for round := range 40 {
		client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: long})
		var calls []asked
		for i := range 30 {
			calls = append(calls, asking(t.Context(), client.Mutex(fmt.Sprint("n", i%15)))) // two for each
		}
		time.Sleep(time.Duration(round) * 100 * time.Microsecond) // another moment each time
		closeWell(t, client)
		for i := range 15 {
			if name := fmt.Sprint("n", i); !gone(t, server, name) {
				t.Fatalf("round %d: %s is left behind", round, name)
			}
		}
		for _, call := range calls {
			if o := call.answer(t); o.err == nil {
				lostBy(t, o.lease.Err(), holdfast.Closed)
			} else if !errors.Is(o.err, holdfast.ErrClosed) {
				t.Errorf("round %d: got %v, want ErrClosed", round, o.err)
			}
		}
	}
}

// Close does not wait for a server that does not answer, and says so.
func TestCloseWhileTheServerIsFrozen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	book := &logbook{}
	client := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: long, Logger: book.logger()})
	lease := take(t, client, "held")
	waiting := asking(t.Context(), client.Mutex("held"))
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	err := bounded(t, "Close", client.Close)
	if !errors.Is(err, holdfast.ErrUnknown) {
		t.Errorf("close: got %v, want ErrUnknown", err)
	}
	if book.String() == "" {
		t.Error("log: got nothing, want a word about it")
	}
	lostBy(t, lease.Err(), holdfast.Closed)
	waiting.refused(t, holdfast.ErrClosed)
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
	client := open(t, server.URL(), holdfast.Options{})
	ctx := take(t, client, "n").Context(t.Context())
	closeWell(t, client)
	closeWell(t, client)
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
	lease := take(t, open(t, server.URL(), holdfast.Options{Owner: "B", TTL: long}), name)
	store := openStore(t, server.URL(), nil)
	for round := range 40 {
		client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: long})
		ctx, cancel := context.WithCancel(t.Context())
		waiting := asking(ctx, client.Mutex(name))
		if round%2 == 0 { // else it is under way itself
			inLine(t, server, name, "A")
		} else {
			time.Sleep(time.Duration(round) * 50 * time.Microsecond)
		}
		cancel()
		waiting.refused(t, context.Canceled)
		closeWell(t, client)
		if got := server.MustDo(t, "ZCARD", keyQ(name)); got != "0" {
			t.Fatalf("round %d: %s are left in line, want nobody", round, got)
		}
	}
	giveBack(t, lease)
}

// The clean-up of a wait that was given up during an outage is between two tries
// when the store is back: Close does not leave it at that.
func TestCloseAfterAnOutage(t *testing.T) {
	const name = "given-up-offline"
	server := redistest.Start(t, redistest.Options{})
	lease := take(t, open(t, server.URL(), holdfast.Options{Owner: "B", TTL: long}), name)
	client, proxy := distant(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := asking(ctx, client.Mutex(name))
	inLine(t, server, name, "A")
	proxy.Refuse()
	cancel()
	waiting.refused(t, context.Canceled)
	time.Sleep(2 * time.Second) // by then seconds lie between two tries
	proxy.Pass()
	closeWell(t, client)
	if got := server.MustDo(t, "ZCARD", keyQ(name)); got != "0" {
		t.Errorf("%s are left in line, want nobody", got)
	}
	giveBack(t, lease)
}

// Close while a release is under way that queues the process again for callers
// who came after the recall.
func TestCloseWhileItReleases(t *testing.T) {
	const name = "leaving"
	server := redistest.Start(t, redistest.Options{})
	b := open(t, server.URL(), holdfast.Options{Owner: "B", TTL: long})
	proxy := redistest.StartProxy(t, server.Addr())
	proxy.Delay(2 * time.Millisecond)
	store := openStore(t, "redis://"+proxy.Addr(), nil)
	for round := range 30 {
		j := &journal{}
		client := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: long, OnEvent: j.note})
		lease := take(t, client, name)
		second := asking(t.Context(), client.Mutex(name)) // for whom A listens
		eventually(t, "A listens, and knows it", func() bool { return len(told[holdfast.Renewed](j)) > 0 })
		next := asking(t.Context(), b.Mutex(name))
		eventually(t, "A is recalled", func() bool { return len(told[holdfast.Recalled](j)) > 0 })
		third := asking(t.Context(), client.Mutex(name))
		giveBack(t, lease)
		lease = second.lease(t)
		released := make(chan error, 1)
		go func() { released <- lease.Release() }()
		time.Sleep(time.Duration(round) * 200 * time.Microsecond) // another moment each time
		closeWell(t, client)
		if err := <-released; err != nil && !errors.Is(err, holdfast.ErrUnknown) && !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("release: got %v, want nil, ErrUnknown or ErrLost", err)
		}
		third.refused(t, holdfast.ErrClosed)
		turn := next.lease(t)
		if got := server.MustDo(t, "ZCARD", keyQ(name)); got != "0" {
			t.Fatalf("round %d: %s are left in line, want nobody", round, got)
		}
		giveBack(t, turn)
		if !gone(t, server, name) {
			t.Fatalf("round %d: %s is left behind", round, name)
		}
	}
}
