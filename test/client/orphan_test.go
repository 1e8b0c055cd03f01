//go:build unix

package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// besideOrphan lets B wait for a name whose lock key somebody else has set.
func besideOrphan(t *testing.T, server *redistest.Server, name string, ttl, repair time.Duration) (clienttest.Asked, *clienttest.Journal) {
	t.Helper()
	j := &clienttest.Journal{}
	b := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: ttl, RepairOrphans: repair, OnEvent: j.Note})
	return clienttest.Asking(t.Context(), b.Mutex(name)), j
}

// A key without expiry, seen unchanged for long enough, gets one, and the
// waiter gets the name when that has passed.
func TestClientRepairsAnOrphan(t *testing.T) {
	const name, ttl, repair = "orphan", 2 * time.Second, 300 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	server.MustDo(t, "SET", clienttest.LockKey(name), "x")
	began := time.Now()
	waiting, j := besideOrphan(t, server, name, ttl, repair)
	clienttest.Eventually(t, "the orphan is repaired", func() bool { return len(clienttest.EventsOf[holdfast.Repaired](j)) == 1 })
	if got := time.Since(began); got < repair {
		t.Errorf("repaired after %v, want %v at least", got, repair)
	}
	if got := clienttest.EventsOf[holdfast.Repaired](j)[0].Name; got != name {
		t.Errorf("repaired: got %q, want %q", got, name)
	}
	lease := waiting.Lease(t)
	if got, want := time.Since(began), repair+ttl; got < want {
		t.Errorf("B has the name after %v, want %v at least", got, want)
	}
	clienttest.GiveBack(t, lease)
	clienttest.NothingLeft(t, server, name)
}

// Without RepairOrphans nobody touches such a key.
func TestClientLeavesAnOrphan(t *testing.T) {
	const name = "meant"
	server := redistest.Start(t, redistest.Options{})
	server.MustDo(t, "SET", clienttest.LockKey(name), "x")
	waiting, j := besideOrphan(t, server, name, time.Second, 0)
	for _, e := range clienttest.More[holdfast.Queued](t, j, 15) {
		if e.Remaining >= 0 || e.Holder != "" {
			t.Errorf("got %+v, want a foreign holder without expiry", e)
		}
	}
	if got := server.MustDo(t, "PTTL", clienttest.LockKey(name)); got != "-1" {
		t.Errorf("PTTL: got %s, want none", got)
	}
	server.MustDo(t, "DEL", clienttest.LockKey(name))
	clienttest.GiveBack(t, waiting.Lease(t))
}

// A key whose value changes is somebody at work.
func TestClientLeavesAChangingKey(t *testing.T) {
	t.Parallel()
	const name, repair = "busy", 3 * time.Second
	server := redistest.Start(t, redistest.Options{})
	server.MustDo(t, "SET", clienttest.LockKey(name), "x")
	began := time.Now()
	waiting, j := besideOrphan(t, server, name, time.Minute, repair)
	for i := 0; time.Since(began) < repair+time.Second; i++ {
		clienttest.More[holdfast.Queued](t, j, 3) // about half a second
		server.MustDo(t, "SET", clienttest.LockKey(name), fmt.Sprint("x", i))
	}
	if got := clienttest.EventsOf[holdfast.Repaired](j); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
	server.MustDo(t, "DEL", clienttest.LockKey(name))
	clienttest.GiveBack(t, waiting.Lease(t))
}

// A key that had an expiry in between was not an orphan all the time: the count
// begins again. (Many an old client has one value for all.)
func TestClientCountsAnOrphanAgain(t *testing.T) {
	t.Parallel()
	const name, repair = "interrupted", 2 * time.Second
	server := redistest.Start(t, redistest.Options{})
	server.MustDo(t, "SET", clienttest.LockKey(name), "x")
	_, j := besideOrphan(t, server, name, time.Minute, repair)
	clienttest.More[holdfast.Queued](t, j, 1)
	server.MustDo(t, "PEXPIRE", clienttest.LockKey(name), time.Minute.Milliseconds())
	for began := time.Now(); time.Since(began) < repair; {
		clienttest.More[holdfast.Queued](t, j, 1)
	}
	again := time.Now()
	server.MustDo(t, "PERSIST", clienttest.LockKey(name))
	clienttest.Eventually(t, "the orphan is repaired", func() bool { return len(clienttest.EventsOf[holdfast.Repaired](j)) > 0 })
	if got := time.Since(again); got < repair {
		t.Errorf("repaired %v after it lost its expiry, want %v at least", got, repair)
	}
}

// A foreign key with an expiry is never touched.
func TestClientLeavesAForeignExpiry(t *testing.T) {
	const name = "foreign"
	server := redistest.Start(t, redistest.Options{})
	server.MustDo(t, "SET", clienttest.LockKey(name), "x", "PX", clienttest.Long.Milliseconds())
	waiting, j := besideOrphan(t, server, name, time.Second, 300*time.Millisecond)
	for _, e := range clienttest.More[holdfast.Queued](t, j, 15) {
		if e.Remaining < clienttest.Long/2 {
			t.Errorf("got %+v, want the expiry as it was", e)
		}
	}
	if got := clienttest.PTTL(t, server, name); got < clienttest.Long/2 {
		t.Errorf("PTTL: got %v, want %v as it was", got, clienttest.Long)
	}
	server.MustDo(t, "DEL", clienttest.LockKey(name)) // tells nobody: B looks by itself
	clienttest.GiveBack(t, waiting.Lease(t))
}

// A foreign key that lives for centuries is a holder like another.
func TestForeignTTLOfCenturies(t *testing.T) {
	const name = "centuries"
	server := redistest.Start(t, redistest.Options{})
	server.MustDo(t, "SET", clienttest.LockKey(name), "x", "PX", 500_000_000_000_000)
	j := &clienttest.Journal{}
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long, OnEvent: j.Note})
	var held *holdfast.HeldError
	if _, err := client.Mutex(name).TryLock(t.Context()); !errors.As(err, &held) || !held.Foreign {
		t.Errorf("TryLock: got %v, want a foreign holder", err)
	}
	waiting := clienttest.Asking(t.Context(), client.Mutex(name))
	clienttest.More[holdfast.Queued](t, j, 1)
	server.MustDo(t, "DEL", clienttest.LockKey(name))
	clienttest.GiveBack(t, waiting.Lease(t))
}
