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

type key struct{}

// Locking a name under the context of its own lease is an error at once, however
// far the context is derived; it is none for another name or another Client.
func TestDeadlockIsReported(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	a := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long})
	b := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long})
	lease := clienttest.Take(t, a, "n")
	other := clienttest.Take(t, a, "m")
	ctx, cancel := context.WithTimeout(lease.Context(t.Context()), clienttest.Long)
	defer cancel()
	ctx = other.Context(context.WithValue(ctx, key{}, "v")) // a lease of another name between
	for name, ctx := range map[string]context.Context{"n": ctx, "m": ctx} {
		clienttest.Asking(ctx, a.Mutex(name)).Refused(t, holdfast.ErrDeadlock)
		if _, err := a.Mutex(name).TryLock(ctx); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("TryLock of %s: got %v, want ErrHeld", name, err)
		}
	}
	clienttest.GiveBack(t, clienttest.Asking(ctx, a.Mutex("free")).Lease(t))
	if _, err := b.Mutex("n").TryLock(ctx); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("by another client: got %v, want ErrHeld", err)
	}
	waiting := clienttest.Asking(ctx, b.Mutex("n"))
	clienttest.InQueue(t, server, "n", "B")
	if !waiting.Pending() {
		t.Error("another client does not wait")
	}
	stranger := clienttest.Asking(t.Context(), a.Mutex("n")) // another caller of this one
	clienttest.GiveBack(t, lease)
	waiting.Refused(t, context.Canceled) // its context was that of the lease
	clienttest.GiveBack(t, stranger.Lease(t))
	clienttest.GiveBack(t, other)
}

// A context that outlives its lease holds nothing any more: who locks under it
// would not wait for itself, and has nothing to share.
func TestNoDeadlockAfterTheLease(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	a := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long})
	mutex := a.Mutex("n")
	lease := clienttest.Take(t, a, "n")
	ctx := context.WithoutCancel(lease.Context(t.Context())) // of work that goes on in the background
	clienttest.GiveBack(t, lease)
	again, err := mutex.Lock(ctx)
	if err != nil {
		t.Fatalf("got %v, want a lease", err)
	}
	mutex.Reentrant = true
	if _, err := mutex.Lock(ctx); !errors.Is(err, holdfast.ErrReleased) || !errors.Is(err, context.Canceled) {
		t.Errorf("reentrant: got %v, want ErrReleased and context.Canceled", err)
	}
	clienttest.GiveBack(t, again)
}

// Release of a lease that Lock did not give is an error, as it comes about where
// defer stands in front of the check of Lock's error.
func TestReleaseOfNothing(t *testing.T) {
	var lease *holdfast.Lease
	if err := lease.Release(); err == nil {
		t.Error("a nil Lease is released, want an error")
	}
	var several *holdfast.MultiLease
	if err := several.Release(); err == nil {
		t.Error("a nil MultiLease is released, want an error")
	}
}

// A reentrant lock shares the lease: its token and its end, which comes with
// the last release.
func TestReentrant(t *testing.T) {
	const name = "n"
	server := redistest.Start(t, redistest.Options{})
	a := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long})
	mutex := a.Mutex(name)
	mutex.Reentrant = true
	outer, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := clienttest.Commands(t, server)
	inner, err := mutex.Lock(outer.Context(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	innermost, err := mutex.TryLock(inner.Context(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if got := clienttest.Commands(t, server); got != before {
		t.Errorf("sharing took %d commands, want none", got-before)
	}
	if outer.Token() != inner.Token() || outer.Token() != innermost.Token() {
		t.Errorf("tokens: got %d, %d, %d, want one", outer.Token(), inner.Token(), innermost.Token())
	}
	stranger := clienttest.Asking(t.Context(), a.Mutex(name))
	clienttest.GiveBack(t, outer) // the order does not matter
	clienttest.GiveBack(t, outer) // and once more changes nothing
	if got := outer.Err(); !errors.Is(got, holdfast.ErrReleased) {
		t.Errorf("released: got %v, want ErrReleased", got)
	}
	clienttest.GiveBack(t, innermost)
	if err := inner.Err(); err != nil {
		t.Errorf("the last share: got %v, want it to hold", err)
	}
	if got := clienttest.Holder(t, server, name); got != "A" {
		t.Errorf("holder: got %q, want A", got)
	}
	if !stranger.Pending() {
		t.Error("another caller has the name beside the last share")
	}
	clienttest.GiveBack(t, inner)
	next := stranger.Lease(t)
	if next.Token() <= inner.Token() {
		t.Errorf("token: got %d, want more than %d", next.Token(), inner.Token())
	}
	clienttest.GiveBack(t, next)
	clienttest.NothingLeft(t, server, name)
}

// All shares are lost together, and under a lost lease there is nothing to
// share.
func TestReentrantLoss(t *testing.T) {
	const name = "n"
	server := redistest.Start(t, redistest.Options{})
	a := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: 3 * time.Second})
	mutex := a.Mutex(name)
	mutex.Reentrant = true
	outer, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx := outer.Context(t.Context())
	inner, err := mutex.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	server.MustDo(t, "SET", clienttest.LockKey(name), "another", "PX", clienttest.Long.Milliseconds())
	clienttest.Closed(t, "the inner lease is over", inner.Done())
	clienttest.Closed(t, "the context has ended", ctx.Done())
	for _, lease := range []*holdfast.Lease{inner, outer} {
		if !errors.Is(lease.Err(), holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", lease.Err())
		}
	}
	if _, err := mutex.Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("under its context: got %v, want the context's error", err)
	}
	if _, err := mutex.Lock(context.WithoutCancel(ctx)); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("under one that goes on: got %v, want ErrLost", err)
	}
	for _, lease := range []*holdfast.Lease{inner, outer} {
		if err := lease.Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("release: got %v, want ErrLost", err)
		}
	}
	if got := server.MustDo(t, "GET", clienttest.LockKey(name)); got != "another" {
		t.Errorf("L: got %q, want it untouched", got)
	}
}
