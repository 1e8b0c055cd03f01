//go:build unix

package lab_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// lingering lets A lock and release a name, and returns when it would hear of
// others that want it.
func lingering(t *testing.T, server *redistest.Server, name string, linger, ttl time.Duration) (*holdfast.Client, *journal, *holdfast.Lease) {
	t.Helper()
	j := &journal{}
	client := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: ttl, Linger: linger, OnEvent: j.note})
	lease := take(t, client, name)
	giveBack(t, lease)
	eventually(t, "a renewal is answered on a confirmed subscription", func() bool {
		up := false
		for _, e := range j.all() {
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
	client, _, lease := lingering(t, server, name, time.Minute, long)
	id, before := server.MustDo(t, "GET", keyL(name)), commands(t, server)
	if got := ownerOf(id); got != "A" {
		t.Fatalf("after the release: got holder %q, want A", got)
	}
	for range 20 { // of 64 tokens
		next := take(t, client, name)
		if next.Token() <= lease.Token() {
			t.Errorf("token: got %d, want more than %d", next.Token(), lease.Token())
		}
		lease = next
		giveBack(t, lease)
	}
	if tried, err := client.Mutex(name).TryLock(t.Context()); err != nil {
		t.Errorf("TryLock of one's own idle name: got %v, want a lease", err)
	} else {
		giveBack(t, tried)
	}
	if got := commands(t, server); got != before {
		t.Errorf("locking again took %d commands, want none", got-before)
	}
	if got := server.MustDo(t, "GET", keyL(name)); got != id {
		t.Error("it is another tenure than before")
	}
}

// A lingering tenure ends by itself, not before its time.
func TestClientLingersForATime(t *testing.T) {
	const name, linger = "idle-out", time.Second
	server := redistest.Start(t, redistest.Options{})
	client := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: long, Linger: linger})
	lease := take(t, client, name)
	released := time.Now()
	giveBack(t, lease)
	eventually(t, "the name is free", func() bool { return gone(t, server, name) })
	if got := time.Since(released); got < linger {
		t.Errorf("it was free after %v, want %v at least", got, linger)
	}
}

// A recall ends a lingering tenure long before its time; a TryLock does not.
func TestClientLingerIsRecalled(t *testing.T) {
	const name = "wanted"
	server := redistest.Start(t, redistest.Options{})
	a, j, last := lingering(t, server, name, 10*patience, long)
	b := open(t, server.URL(), holdfast.Options{Owner: "B", TTL: long})

	_, err := b.Mutex(name).TryLock(t.Context())
	held, ok := errors.AsType[*holdfast.HeldError](err)
	if !ok || !errors.Is(err, holdfast.ErrHeld) || held.Owner != "A" {
		t.Errorf("TryLock: got %v, want that A holds it", err)
	}
	if got := len(told[holdfast.Recalled](j)); got != 0 {
		t.Errorf("TryLock recalled the holder %d times", got)
	}

	lease := take(t, b, name)
	if lease.Token() <= last.Token() {
		t.Errorf("token: got %d, want more than %d", lease.Token(), last.Token())
	}
	eventually(t, "A tells of the recall", func() bool { return len(told[holdfast.Recalled](j)) == 1 })
	again := asking(t.Context(), a.Mutex(name))
	inLine(t, server, name, "A")
	giveBack(t, lease)
	giveBack(t, again.lease(t))
}

// Who came before the release is heard of too: nobody listened then for the
// recall, and the first renewal that is heard tells.
func TestClientDoesNotLingerBeforeAWaiter(t *testing.T) {
	const name = "wanted-before"
	server := redistest.Start(t, redistest.Options{})
	a := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: long, Linger: 10 * patience})
	b := open(t, server.URL(), holdfast.Options{Owner: "B", TTL: long})
	lease := take(t, a, name)
	waiting := asking(t.Context(), b.Mutex(name))
	inLine(t, server, name, "B")
	giveBack(t, lease)
	giveBack(t, waiting.lease(t))
	nothingLeft(t, server, name)
}

// A lingering tenure is renewed like any other, and Close releases it.
func TestClientLingerIsRenewedAndClosed(t *testing.T) {
	const name, ttl = "renewed-idle", 2 * time.Second
	server := redistest.Start(t, redistest.Options{})
	client, j, _ := lingering(t, server, name, 10*patience, ttl)
	id := server.MustDo(t, "GET", keyL(name))
	more[holdfast.Renewed](t, j, 5) // one ttl and a half at least
	if got := server.MustDo(t, "GET", keyL(name)); got != id || id == "" {
		t.Error("it is not the tenure that was idle any more")
	}
	if err := client.Close(); err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
	if !gone(t, server, name) {
		t.Error("after Close the name is still held")
	}
}
