//go:build unix

package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// While the slot of a name moves key by key, real servers refuse a script that
// needs all its keys with TRYAGAIN. A lease is kept through that, far beyond its
// ttl, and can be released; the waiter gets the name when the move is over.
func TestLeaseOutlastsAMove(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel() // most of it is waiting
		outlast(t, d, nodes)
	})
}

func outlast(t *testing.T, d clienttest.Library, nodes clienttest.Cluster) {
	name := "moving-" + d.Name
	client := func(ttl time.Duration) *holdfast.Client {
		c := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{TTL: ttl})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	holder, waiter := client(500*time.Millisecond), client(15*time.Second)
	lock, fence, queue := clienttest.LockKey(name), clienttest.FenceKey(name), clienttest.QueueKey(name)
	lease, err := holder.Mutex(name).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *holdfast.Lease, 1)
	go func() {
		next, err := waiter.Mutex(name).Lock(t.Context())
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
			t.Fatal("the waiter does not wait in the queue")
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
	move(lock) // the lock key alone is reached at its new server now
	time.Sleep(1500 * time.Millisecond)
	if err := lease.Err(); err != nil {
		t.Errorf("the lease, when the lock key has moved: %v", err)
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

// All keys of a name have moved, but its slot has not: who waits still listens at
// the old server, and nobody counts it at the new one, where the name is held and
// given back. It notices that, asks by itself, and gets the name when it can.
func TestUnnoticedAtTheTarget(t *testing.T) {
	t.Parallel()
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	t.Run("move", func(t *testing.T) {
		clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
			t.Parallel()
			unheard(t, d, nodes)
		})
	})
	nodes.Idle(t)
}

func unheard(t *testing.T, d clienttest.Library, nodes clienttest.Cluster) {
	name := "unheard-" + d.Name
	j := &clienttest.Journal{}
	client := func(owner string, told func(holdfast.Event)) *holdfast.Client {
		c := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{Owner: owner, TTL: 3 * time.Second, OnEvent: told})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	lease := clienttest.Take(t, client("A", nil), name)
	waiting := clienttest.Asking(t.Context(), client("B", j.Note).Mutex(name))
	nodes.InQueue(t, name, "B")
	before := len(clienttest.EventsOf[holdfast.Queued](j))
	finish := nodes.BeginMove(t, name)
	clienttest.Eventually(t, "B notices that nobody counts it, and asks often", func() bool {
		broken := slices.ContainsFunc(clienttest.EventsOf[holdfast.SubscriptionBroken](j), func(w holdfast.SubscriptionBroken) bool {
			return w.Err != nil && strings.Contains(w.Err.Error(), "does not know the subscription")
		})
		return broken && len(clienttest.EventsOf[holdfast.Queued](j)) >= before+5
	})
	clienttest.GiveBack(t, lease)
	finish()
	next := waiting.Lease(t)
	if next.Token() <= lease.Token() {
		t.Errorf("token %d after %d", next.Token(), lease.Token())
	}
	clienttest.GiveBack(t, next)
}
