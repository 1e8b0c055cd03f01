//go:build unix

package quorum_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

// What can't be a quorum is refused by NewQuorum, with the reason.
func TestQuorumRefusals(t *testing.T) {
	const id = "demo/1/3-0123456789"
	d := clienttest.Deploy(t, 3)
	var stores []driver.Store
	for _, m := range d.Members() {
		stores = append(stores, m.Store)
	}
	for _, c := range []struct {
		id      string
		options holdfast.QuorumOptions
		stores  []driver.Store
		want    string
	}{
		{id, holdfast.QuorumOptions{}, stores[:2], "odd number"},
		{id, holdfast.QuorumOptions{}, stores[:1], "odd number"},
		{id, holdfast.QuorumOptions{}, append(stores[:3:3], stores[0]), "odd number"},
		{id, holdfast.QuorumOptions{}, []driver.Store{stores[0], nil, stores[2]}, "nil"},
		{"", holdfast.QuorumOptions{}, stores, "not a quorum-id"},
		{"demo", holdfast.QuorumOptions{}, stores, "not a quorum-id"},
		{"demo/1/5-0123456789", holdfast.QuorumOptions{}, stores, "quorum of 5"},
		{id, holdfast.QuorumOptions{TTL: 61 * time.Second}, stores, "at most"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "holdfast: ") || !strings.Contains(got, c.want) {
					t.Errorf("%q, %+v, %d stores: got %q, want a panic about %q", c.id, c.options, len(c.stores), got, c.want)
				}
			}()
			_ = holdfast.NewQuorum(c.id, &c.options, c.stores...).Close()
		}()
	}
}

// Another quorum's nodes are told at once, each by what it bears.
func TestQuorumOfOthers(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a := d.ClientOf("other/1/3-0123456789", holdfast.QuorumOptions{})
	_, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if !errors.Is(err, holdfast.ErrQuorum) || !strings.Contains(err.Error(), d.ID) {
		t.Errorf("got %v, want no such quorum, and the one there is", err)
	}
	if got := nodesWith(d, clienttest.LockKey("x")); got != 0 {
		t.Errorf("%d nodes have L, want none", got)
	}
}

// The callers of one process get turns: one at a time, with rising tokens.
func TestQuorumTurns(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a := d.Client(holdfast.QuorumOptions{})
	var mu sync.Mutex
	var last int64
	inside := 0
	var callers sync.WaitGroup
	for range 150 { // more than a tenure's tokens
		callers.Go(func() {
			lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside++
			if inside != 1 || lease.Token() <= last {
				t.Errorf("%d inside, token %d after %d", inside, lease.Token(), last)
			}
			last = lease.Token()
			mu.Unlock()
			mu.Lock()
			inside--
			mu.Unlock()
			if err := lease.Release(); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
	callers.Wait()
}

// A foreign client that has the key on a majority excludes us.
func TestQuorumForeignHolder(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a := d.Client(holdfast.QuorumOptions{})
	for _, s := range d.Servers[:2] {
		s.MustDo(t, "SET", clienttest.LockKey("x"), "somebody's", "NX", "PX", 60000)
	}
	_, err := a.Mutex("x").TryLock(t.Context())
	held, ok := errors.AsType[*holdfast.HeldError](err)
	if !ok || !held.Foreign || held.Remaining <= 0 {
		t.Errorf("got %v (%+v), want held by a foreign client", err, held)
	}
	waiting := clienttest.Asking(t.Context(), a.Mutex("x"))
	for _, s := range d.Servers[:2] {
		s.MustDo(t, "DEL", clienttest.LockKey("x"))
	}
	clienttest.GiveBack(t, waiting.Lease(t))
}

// Inspect tells who has a majority, with a node down, too; Names finds it.
func TestQuorumInspect(t *testing.T) {
	t.Parallel()
	d := clienttest.Deploy(t, 3)
	a := d.Client(holdfast.QuorumOptions{Owner: "me:1"})
	d.Servers[2].Kill()
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	state, err := admin.OfQuorum(a).Inspect(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if h := state.Holder; h == nil || h.Owner != "me:1" || !h.Own || h.Remaining <= 0 || state.Token < lease.Token() {
		t.Errorf("got %+v of %+v, want me:1 with token %d at least", h, state, lease.Token())
	}
	var names []string
	for name, err := range admin.OfQuorum(a).Names(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names) != 1 || names[0] != "x" {
		t.Errorf("names: got %v, want x", names)
	}
	clienttest.GiveBack(t, lease)
	if state, err := admin.OfQuorum(a).Inspect(t.Context(), "x"); err != nil || state.Holder != nil {
		t.Errorf("released: got %+v, %v, want nobody", state, err)
	}
}

// Whoever does not want to wait any longer leaves nothing behind.
func TestQuorumAbandoned(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a, b := d.Client(holdfast.QuorumOptions{TTL: time.Minute}), d.Client(holdfast.QuorumOptions{TTL: time.Minute})
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := clienttest.LockIn(t, b, "x", 50*time.Millisecond); err == nil {
			t.Fatal("two hold x")
		}
	}
	clienttest.GiveBack(t, lease)
	clienttest.Eventually(t, "no node has L", func() bool { return nodesWith(d, clienttest.LockKey("x")) == 0 })
}
