//go:build unix

package quorum_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/labtest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// What can't be a quorum is refused by NewQuorum, with the reason.
func TestQuorumRefusals(t *testing.T) {
	const id = "lab/1/3-0123456789"
	d := labtest.Deploy(t, 3)
	var stores []driver.Store
	for _, m := range d.Members() {
		stores = append(stores, m.Store)
	}
	for _, c := range []struct {
		options holdfast.Options
		stores  []driver.Store
		want    string
	}{
		{holdfast.Options{Quorum: id}, stores[:2], "odd number"},
		{holdfast.Options{Quorum: id}, stores[:1], "odd number"},
		{holdfast.Options{Quorum: id}, append(stores[:3:3], stores[0]), "odd number"},
		{holdfast.Options{Quorum: id}, []driver.Store{stores[0], nil, stores[2]}, "nil"},
		{holdfast.Options{}, stores, "Options.Quorum"},
		{holdfast.Options{Quorum: "lab"}, stores, "not a quorum-id"},
		{holdfast.Options{Quorum: "lab/1/5-0123456789"}, stores, "quorum of 5"},
		{holdfast.Options{Quorum: id, TTL: 61 * time.Second}, stores, "at most"},
		{holdfast.Options{Quorum: id, Linger: time.Second}, stores, "Linger"},
		{holdfast.Options{Quorum: id, RepairOrphans: time.Second}, stores, "RepairOrphans"},
		{holdfast.Options{Quorum: id, WaitReplicas: 1}, stores, "WaitReplicas"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "holdfast: ") || !strings.Contains(got, c.want) {
					t.Errorf("%+v, %d stores: got %q, want a panic about %q", c.options, len(c.stores), got, c.want)
				}
			}()
			_ = holdfast.NewQuorum(&c.options, c.stores...).Close()
		}()
	}
	func() {
		defer func() {
			if got := fmt.Sprint(recover()); !strings.Contains(got, "NewQuorum") {
				t.Errorf("New with Options.Quorum: got %q, want a panic that names NewQuorum", got)
			}
		}()
		_ = holdfast.New(stores[0], &holdfast.Options{Quorum: id}).Close()
	}()
}

// Another quorum's nodes are told at once, each by what it bears.
func TestQuorumOfOthers(t *testing.T) {
	d := labtest.Deploy(t, 3)
	a := d.Client(holdfast.Options{Quorum: "other/1/3-0123456789"})
	_, err := labtest.LockIn(t, a, "x", labtest.Patience)
	if !errors.Is(err, holdfast.ErrQuorum) || !strings.Contains(err.Error(), d.Id) {
		t.Errorf("got %v, want no such quorum, and the one there is", err)
	}
	if got := d.On(labtest.KeyL("x")); got != 0 {
		t.Errorf("%d nodes have L, want none", got)
	}
}

// The callers of one process get turns: one at a time, with rising tokens.
func TestQuorumTurns(t *testing.T) {
	d := labtest.Deploy(t, 3)
	a := d.Client(holdfast.Options{})
	var mu sync.Mutex
	var last int64
	inside := 0
	var callers sync.WaitGroup
	for range 150 { // more than a tenure's tokens
		callers.Go(func() {
			lease, err := labtest.LockIn(t, a, "x", labtest.Patience)
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
	d := labtest.Deploy(t, 3)
	a := d.Client(holdfast.Options{})
	for _, s := range d.Servers[:2] {
		s.MustDo(t, "SET", labtest.KeyL("x"), "somebody's", "NX", "PX", 60000)
	}
	_, err := a.Mutex("x").TryLock(t.Context())
	held, ok := errors.AsType[*holdfast.HeldError](err)
	if !ok || !held.Foreign || held.Remaining <= 0 {
		t.Errorf("got %v (%+v), want held by a foreign client", err, held)
	}
	waiting := labtest.Asking(t.Context(), a.Mutex("x"))
	for _, s := range d.Servers[:2] {
		s.MustDo(t, "DEL", labtest.KeyL("x"))
	}
	labtest.GiveBack(t, waiting.Lease(t))
}

// Inspect tells who has a majority, with a node down, too; Names finds it.
func TestQuorumInspect(t *testing.T) {
	t.Parallel()
	d := labtest.Deploy(t, 3)
	a := d.Client(holdfast.Options{Owner: "me:1"})
	d.Servers[2].Kill()
	lease, err := labtest.LockIn(t, a, "x", labtest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	state, err := a.Inspect(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if h := state.Holder; h == nil || h.Owner != "me:1" || !h.Own || h.Remaining <= 0 || state.Token < lease.Token() {
		t.Errorf("got %+v of %+v, want me:1 with token %d at least", h, state, lease.Token())
	}
	var names []string
	for name, err := range a.Names(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names) != 1 || names[0] != "x" {
		t.Errorf("names: got %v, want x", names)
	}
	labtest.GiveBack(t, lease)
	if state, err := a.Inspect(t.Context(), "x"); err != nil || state.Holder != nil {
		t.Errorf("released: got %+v, %v, want nobody", state, err)
	}
}

// Check says that it does not check a quorum.
func TestQuorumCheck(t *testing.T) {
	d := labtest.Deploy(t, 3)
	got := d.Client(holdfast.Options{}).Check(t.Context())
	if len(got) != 1 || got[0].State != holdfast.CheckUnknown || !strings.Contains(got[0].Fix, "quorum status") {
		t.Errorf("got %+v, want one that is unknown and says where to look", got)
	}
}

// Whoever does not want to wait any longer leaves nothing behind.
func TestQuorumAbandoned(t *testing.T) {
	d := labtest.Deploy(t, 3)
	a, b := d.Client(holdfast.Options{TTL: time.Minute}), d.Client(holdfast.Options{TTL: time.Minute})
	lease, err := labtest.LockIn(t, a, "x", labtest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := labtest.LockIn(t, b, "x", 50*time.Millisecond); err == nil {
			t.Fatal("two hold x")
		}
	}
	labtest.GiveBack(t, lease)
	labtest.Eventually(t, "no node has L", func() bool { return d.On(labtest.KeyL("x")) == 0 })
}
