//go:build unix

package lab_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// A lease of a quorum excludes others, has rising tokens, and leaves nothing
// behind on any node.
func TestQuorumLocks(t *testing.T) {
	for _, n := range []int{3, 5} {
		d := deploy(t, n)
		a := d.client(holdfast.Options{Owner: "a"})
		b := d.client(holdfast.Options{Owner: "b:7"})
		var last int64
		for _, client := range []*holdfast.Client{a, b, a} {
			lease, err := lockIn(t, client, "x", patience)
			if err != nil {
				t.Fatal(err)
			}
			if got := lease.Token(); got <= last {
				t.Errorf("token: got %d, want more than %d", got, last)
			}
			last = lease.Token()
			other := a
			if client == a {
				other = b
			}
			_, err = other.Mutex("x").TryLock(t.Context())
			held, ok := errors.AsType[*holdfast.HeldError](err)
			if !ok || held.Owner != client.Owner() || held.Remaining <= 0 {
				t.Errorf("TryLock of the other: got %v (%+v), want held by %s", err, held, client.Owner())
			}
			giveBack(t, lease)
			eventually(t, "no node has L", func() bool { return d.on(keyL("x")) == 0 })
		}
	}
}

// A tenure on a quorum outlives its ttl by renewals, with one node frozen too.
func TestQuorumRenews(t *testing.T) {
	d := deploy(t, 3)
	a, b := d.client(holdfast.Options{TTL: 3 * time.Second}), d.client(holdfast.Options{TTL: 3 * time.Second})
	lease, err := lockIn(t, a, "x", patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.servers[2].Freeze(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 7*time.Second; time.Sleep(20 * time.Millisecond) {
		if err := lease.Err(); err != nil {
			t.Fatalf("lease after %v: got %v, want held", time.Since(begun), err)
		}
	}
	if _, err := b.Mutex("x").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("TryLock of another: got %v, want held", err)
	}
	giveBack(t, lease)
	if err := d.servers[2].Thaw(); err != nil {
		t.Fatal(err)
	}
}
