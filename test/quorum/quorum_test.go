//go:build unix

// Package quorum_test tests locks on a quorum of real servers.
package quorum_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
)

// A lease of a quorum excludes others, has rising tokens, and leaves nothing
// behind on any node.
func TestQuorumLocks(t *testing.T) {
	for _, n := range []int{3, 5} {
		d := clienttest.Deploy(t, n)
		a := d.Client(holdfast.QuorumOptions{Owner: "a"})
		b := d.Client(holdfast.QuorumOptions{Owner: "b:7"})
		var last int64
		for _, client := range []*holdfast.QuorumClient{a, b, a} {
			lease, err := clienttest.LockIn(t, client, "x", clienttest.Patience)
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
			clienttest.GiveBack(t, lease)
			clienttest.Eventually(t, "no node has L", func() bool { return nodesWith(d, clienttest.LockKey("x")) == 0 })
		}
	}
}

// A tenure on a quorum outlives its ttl by renewals, with one node frozen too.
func TestQuorumRenews(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a, b := d.Client(holdfast.QuorumOptions{TTL: 3 * time.Second}), d.Client(holdfast.QuorumOptions{TTL: 3 * time.Second})
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Servers[2].Freeze(); err != nil {
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
	clienttest.GiveBack(t, lease)
	if err := d.Servers[2].Thaw(); err != nil {
		t.Fatal(err)
	}
}

// nodesWith counts the nodes that have a key.
func nodesWith(d *clienttest.Deployment, key string) (n int) {
	for _, s := range d.Servers {
		if v, err := s.Do("EXISTS", key); err == nil && v == "1" {
			n++
		}
	}
	return n
}
