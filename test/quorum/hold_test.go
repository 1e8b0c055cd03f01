//go:build unix

package quorum_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
)

// What a quorum can't do is refused at once, and leaves nothing behind.
func TestQuorumRefusesMinHold(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	client := d.Client(holdfast.QuorumOptions{})
	mutex := client.Mutex("x")
	mutex.MinHold = time.Minute
	_, lockErr := mutex.Lock(t.Context())
	_, tryErr := mutex.TryLock(t.Context())
	for what, err := range map[string]error{"Lock": lockErr, "TryLock": tryErr} {
		if err == nil || !strings.Contains(err.Error(), "quorum") || errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("%s: got %v, want that a quorum can't", what, err)
		}
	}
	if got := nodesWith(d, clienttest.LockKey("x")); got != 0 {
		t.Errorf("%d nodes have L, want none", got)
	}
}

// MaxHold ends a lease there, too, and Release gives the name on.
func TestQuorumMaxHold(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	client := d.Client(holdfast.QuorumOptions{TTL: 10 * time.Second})
	mutex := client.Mutex("x")
	mutex.MaxHold = 300 * time.Millisecond
	lease, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx := lease.Context(t.Context())
	select {
	case <-ctx.Done():
	case <-time.After(clienttest.Patience):
		t.Fatal("the lease does not end")
	}
	if lost, ok := errors.AsType[*holdfast.LostError](context.Cause(ctx)); !ok || lost.Cause != holdfast.MaxHold {
		t.Errorf("got cause %v, want MaxHold", context.Cause(ctx))
	}
	_ = lease.Release()
	next, err := clienttest.LockIn(t, client, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	_ = next.Release()
}
