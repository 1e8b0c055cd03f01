//go:build unix

package quorum_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
)

// On a quorum a lease without renewal ends at its time and is given back then; Extend gives it
// at most the ttl of its Mutex.
func TestQuorumNoRenew(t *testing.T) {
	t.Parallel()
	d := clienttest.Deploy(t, 3)
	client, other := d.Client(holdfast.QuorumOptions{}), d.Client(holdfast.QuorumOptions{})
	m := client.Mutex("n")
	m.TTL, m.NoRenew = 4*time.Second, true
	lease, err := m.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := lease.Extend(t.Context(), 5*time.Second); err == nil || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Extend by more than the ttl: %v; want that it does not work on a quorum", err)
	}
	half := time.After(lease.Remaining() / 2)
	<-half
	if err := lease.EnsureHeld(t.Context()); err != nil {
		t.Errorf("EnsureHeld: %v", err)
	}
	if left := lease.Remaining(); left > 4*time.Second-time.Since(began)+50*time.Millisecond {
		t.Errorf("%v are left after EnsureHeld; want no more than before", left)
	}
	before := lease.Remaining()
	if err := lease.Extend(t.Context(), 4*time.Second); err != nil || lease.Remaining() <= before {
		t.Errorf("Extend: %v, and %v are left; want more than %v", err, lease.Remaining(), before)
	}
	<-lease.Done()
	if lost, ok := errors.AsType[*holdfast.LostError](lease.Err()); !ok || lost.Cause != holdfast.Expired {
		t.Errorf("at its end: %v; want that it expired", lease.Err())
	}
	clienttest.GiveBack(t, clienttest.Take(t, other, "n"))
}
