//go:build unix

package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// lingering lets A lock and release a name, and returns when it would hear of
// others that want it.
func lingering(t *testing.T, server *redistest.Server, name string, linger, ttl time.Duration) (*holdfast.Client, *clienttest.Journal, *holdfast.Lease) {
	t.Helper()
	j := &clienttest.Journal{}
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: ttl, Linger: linger, OnEvent: j.Note})
	lease := clienttest.Take(t, client, name)
	clienttest.GiveBack(t, lease)
	clienttest.Eventually(t, "a renewal is answered on a confirmed subscription", func() bool {
		up := false
		for _, e := range j.All() {
			switch e.(type) {
			case holdfast.SubscriptionConfirmed:
				up = true
			case holdfast.SubscriptionBroken:
				up = false
			case holdfast.Renewed:
				if up {
					return true
				}
			}
		}
		return false
	})
	return client, j, lease
}

// While nobody else wants it a lingering tenure gives turns without a command.
func TestClientLingers(t *testing.T) {
	const name = "idle"
	server := redistest.Start(t, redistest.Options{})
	client, _, lease := lingering(t, server, name, time.Minute, clienttest.Long)
	id, before := server.MustDo(t, "GET", clienttest.LockKey(name)), clienttest.Commands(t, server)
	if got := clienttest.OwnerOf(id); got != "A" {
		t.Fatalf("after the release: got holder %q, want A", got)
	}
	for range 20 { // of 64 tokens
		next := clienttest.Take(t, client, name)
		if next.Token() <= lease.Token() {
			t.Errorf("token: got %d, want more than %d", next.Token(), lease.Token())
		}
		lease = next
		clienttest.GiveBack(t, lease)
	}
	if tried, err := client.Mutex(name).TryLock(t.Context()); err != nil {
		t.Errorf("TryLock of one's own idle name: got %v, want a lease", err)
	} else {
		clienttest.GiveBack(t, tried)
	}
	if got := clienttest.Commands(t, server); got != before {
		t.Errorf("locking again took %d commands, want none", got-before)
	}
	if got := server.MustDo(t, "GET", clienttest.LockKey(name)); got != id {
		t.Error("it is another tenure than before")
	}
}

// A lingering tenure ends by itself, not before its time.
func TestClientLingersForATime(t *testing.T) {
	const name, linger = "idle-out", time.Second
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long, Linger: linger})
	lease := clienttest.Take(t, client, name)
	released := time.Now()
	clienttest.GiveBack(t, lease)
	clienttest.Eventually(t, "the name is free", func() bool { return clienttest.Gone(t, server, name) })
	if got := time.Since(released); got < linger {
		t.Errorf("it was free after %v, want %v at least", got, linger)
	}
}

// A recall ends a lingering tenure long before its time; a TryLock does not.
func TestClientLingerIsRecalled(t *testing.T) {
	const name = "wanted"
	server := redistest.Start(t, redistest.Options{})
	a, j, last := lingering(t, server, name, 10*clienttest.Patience, clienttest.Long)
	b := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long})

	_, err := b.Mutex(name).TryLock(t.Context())
	held, ok := errors.AsType[*holdfast.HeldError](err)
	if !ok || !errors.Is(err, holdfast.ErrHeld) || held.Owner != "A" {
		t.Errorf("TryLock: got %v, want that A holds it", err)
	}
	if got := len(clienttest.EventsOf[holdfast.Recalled](j)); got != 0 {
		t.Errorf("TryLock recalled the holder %d times", got)
	}

	lease := clienttest.Take(t, b, name)
	if lease.Token() <= last.Token() {
		t.Errorf("token: got %d, want more than %d", lease.Token(), last.Token())
	}
	clienttest.Eventually(t, "A tells of the recall", func() bool { return len(clienttest.EventsOf[holdfast.Recalled](j)) == 1 })
	again := clienttest.Asking(t.Context(), a.Mutex(name))
	clienttest.InQueue(t, server, name, "A")
	clienttest.GiveBack(t, lease)
	clienttest.GiveBack(t, again.Lease(t))
}

// Who came before the release is heard of too: nobody listened then for the
// recall, and the first renewal that is heard tells.
func TestClientDoesNotLingerBeforeAWaiter(t *testing.T) {
	const name = "wanted-before"
	server := redistest.Start(t, redistest.Options{})
	a := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long, Linger: 10 * clienttest.Patience})
	b := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long})
	lease := clienttest.Take(t, a, name)
	waiting := clienttest.Asking(t.Context(), b.Mutex(name))
	clienttest.InQueue(t, server, name, "B")
	clienttest.GiveBack(t, lease)
	clienttest.GiveBack(t, waiting.Lease(t))
	clienttest.NothingLeft(t, server, name)
}

// A lingering tenure is renewed like any other, and Close releases it.
func TestClientLingerIsRenewedAndClosed(t *testing.T) {
	const name, ttl = "renewed-idle", 2 * time.Second
	server := redistest.Start(t, redistest.Options{})
	client, j, _ := lingering(t, server, name, 10*clienttest.Patience, ttl)
	id := server.MustDo(t, "GET", clienttest.LockKey(name))
	clienttest.More[holdfast.Renewed](t, j, 5) // one ttl and a half at least
	if got := server.MustDo(t, "GET", clienttest.LockKey(name)); got != id || id == "" {
		t.Error("it is not the tenure that was idle any more")
	}
	if err := client.Close(); err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
	if !clienttest.Gone(t, server, name) {
		t.Error("after Close the name is still held")
	}
}
