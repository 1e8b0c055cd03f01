//go:build unix

package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// While the slot of a name moves key by key, real servers refuse a script that
// needs all its keys with TRYAGAIN. A lease is kept through that, far beyond its
// ttl, and can be released; the waiter gets the name when the move is over.
func TestLeaseOutlastsAMove(t *testing.T) {
	nodes := redistest.Cluster(t, 3, 0)
	addrs := make([]string, len(nodes))
	for i, n := range nodes {
		addrs[i] = n.Addr()
	}
	client := func(ttl time.Duration) *holdfast.Client {
		store, err := rueidisstore.Open("cluster://"+strings.Join(addrs, ","), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		c := holdfast.New(store, &holdfast.Options{TTL: ttl})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	holder, waiter := client(500*time.Millisecond), client(15*time.Second)
	const lock, fence, queue = "holdfast:n", "holdfast/fence:{holdfast:n}", "holdfast/queue:{holdfast:n}"
	lease, err := holder.Mutex("n").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *holdfast.Lease, 1)
	go func() {
		next, err := waiter.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		got <- next
	}()

	var from, to *redistest.Server
	for _, n := range nodes {
		if n.MustDo(t, "CLUSTER", "COUNTKEYSINSLOT", n.MustDo(t, "CLUSTER", "KEYSLOT", lock)) != "0" {
			from = n
		} else {
			to = n
		}
	}
	slot := from.MustDo(t, "CLUSTER", "KEYSLOT", lock)
	for deadline := time.Now().Add(20 * time.Second); from.MustDo(t, "ZCARD", queue) != "1"; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the waiter does not stand in line")
		}
	}
	fromID, toID := from.MustDo(t, "CLUSTER", "MYID"), to.MustDo(t, "CLUSTER", "MYID")
	host, port, _ := strings.Cut(to.Addr(), ":")
	move := func(key string) { from.MustDo(t, "MIGRATE", host, port, key, 0, 5000) }

	to.MustDo(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.MustDo(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	move(fence) // and the two others stay: TRYAGAIN
	time.Sleep(2500 * time.Millisecond)
	if err := lease.Err(); err != nil {
		t.Errorf("the lease, five times its ttl into the move: %v", err)
	}
	move(lock) // L alone is reached at its new server now
	time.Sleep(1500 * time.Millisecond)
	if err := lease.Err(); err != nil {
		t.Errorf("the lease, when L has moved: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Errorf("Release: %v", err)
	}
	move(queue)
	for _, n := range []*redistest.Server{to, from} {
		n.MustDo(t, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	}
	select {
	case next := <-got:
		if next.Token() <= lease.Token() {
			t.Errorf("token %d after %d", next.Token(), lease.Token())
		}
		if err := next.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the waiter gets nothing after the move")
	}
}
