//go:build unix

package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

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

// The answer of lock is lost: the same id asks again, and is granted once.
func TestLockAnswerLost(t *testing.T) {
	const name = "granted-unheard"
	server := redistest.Start(t, redistest.Options{})
	client, proxy := distant(t, server)
	proxy.HoldReplies()
	call := clienttest.Asking(t.Context(), client.Mutex(name))
	clienttest.Eventually(t, "the server has granted", func() bool { return clienttest.Holder(t, server, name) == "A" })
	id := server.MustDo(t, "GET", clienttest.LockKey(name))
	if !call.Pending() {
		t.Error("Lock returned without an answer")
	}
	proxy.Cut()
	proxy.Pass()
	lease := call.Lease(t)
	if got := server.MustDo(t, "GET", clienttest.LockKey(name)); got != id {
		t.Error("it was granted to another id than at first")
	}
	clienttest.GiveBack(t, lease)
	clienttest.NothingLeftSoon(t, server, name, "warm")
}

// A wait that is given up while its request is under way leaves nothing behind,
// whether the network delivers the rest later or loses it.
func TestLockGivenUpInFlight(t *testing.T) {
	for what, fault := range map[string]struct{ begin, end func(*redistest.Proxy) }{
		"answers late":  {(*redistest.Proxy).HoldReplies, (*redistest.Proxy).Pass},
		"answers lost":  {(*redistest.Proxy).HoldReplies, func(p *redistest.Proxy) { p.Cut(); p.Pass() }},
		"requests late": {(*redistest.Proxy).Hold, (*redistest.Proxy).Pass},
		"requests lost": {(*redistest.Proxy).Hold, func(p *redistest.Proxy) { p.Cut(); p.Pass() }},
	} {
		t.Run(what, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			client, proxy := distant(t, server)
			other := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long})
			busy := clienttest.Take(t, other, "busy")
			fault.begin(proxy)
			for _, name := range []string{"free", "busy"} {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				began := time.Now()
				clienttest.Asking(ctx, client.Mutex(name)).Refused(t, context.DeadlineExceeded)
				if got := time.Since(began); got > 5*time.Second {
					t.Errorf("Lock returned %v after its context had ended", got)
				}
				cancel()
			}
			fault.end(proxy)
			clienttest.GiveBack(t, clienttest.Take(t, other, "free")) // soon, far before the ttl
			again := clienttest.Asking(t.Context(), client.Mutex("free"))
			clienttest.GiveBack(t, again.Lease(t))
			clienttest.GiveBack(t, busy)
			clienttest.NothingLeftSoon(t, server, "free", "busy", "warm")
		})
	}
}

// A wait in the queue that is given up behind a dead network is taken out of the queue when
// the network is back.
func TestWaitGivenUpBehindAFault(t *testing.T) {
	const name = "waited"
	server := redistest.Start(t, redistest.Options{})
	client, proxy := distant(t, server)
	lease := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long}), name)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := clienttest.Asking(ctx, client.Mutex(name))
	clienttest.InQueue(t, server, name, "A")
	proxy.Hold()
	cancel()
	waiting.Refused(t, context.Canceled)
	clienttest.InQueue(t, server, name, "A") // nothing got through
	proxy.Cut()
	proxy.Pass()
	clienttest.InQueue(t, server, name)
	clienttest.GiveBack(t, lease)
	clienttest.NothingLeftSoon(t, server, name, "warm")
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

// The release has run and only its answer is lost: it is not known, and nothing
// that is repeated harms the next holder.
func TestReleaseRunsTwice(t *testing.T) {
	const name = "left-twice"
	server := redistest.Start(t, redistest.Options{})
	client, proxy := distant(t, server)
	lease := clienttest.Take(t, client, name)
	proxy.HoldReplies()
	if err := clienttest.Bounded(t, "Release", lease.Release); !errors.Is(err, holdfast.ErrUnknown) {
		t.Errorf("release: got %v, want ErrUnknown", err)
	}
	next := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long}), name)
	proxy.Cut()
	proxy.Pass()
	again := clienttest.Asking(t.Context(), client.Mutex(name))
	clienttest.InQueue(t, server, name, "A")
	if got := clienttest.Holder(t, server, name); got != "B" {
		t.Errorf("holder: got %q, want B", got)
	}
	clienttest.GiveBack(t, next)
	clienttest.GiveBack(t, again.Lease(t))
	clienttest.NothingLeftSoon(t, server, name, "warm")
}
