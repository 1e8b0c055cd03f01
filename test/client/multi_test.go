//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Full memory refuses all names or none, the first time and when the request is
// repeated, and leaves nothing.
func TestMultiFullMemory(t *testing.T) {
	server, client := fullServer(t)
	c := client(holdfast.Options{TTL: 3 * time.Second})
	multi := c.Multi("m1", "m2", "m3")
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1", "maxmemory-policy", "noeviction")
	for what, lock := range map[string]func(context.Context) (*holdfast.MultiLease, error){"Lock": multi.Lock, "TryLock": multi.TryLock} {
		_, err := lock(t.Context())
		if !errors.Is(err, holdfast.ErrUnreachable) || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: got %v, want what the server says of its memory", what, err)
		}
	}
	clienttest.Eventually(t, "nothing of the names is left", func() bool { return strings.TrimSpace(server.MustDo(t, "KEYS", "*m?*")) == "" })
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
	lease, err := multi.TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

// On a Cluster names whose keys share a tag are locked by one command, others one
// after the other, with either driver; and while their slot moves, when it has.
func TestMultiOnACluster(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	evals := func() (n int) {
		for _, node := range nodes {
			for line := range strings.Lines(node.MustDo(t, "INFO", "commandstats")) {
				calls := 0
				if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &calls); err == nil {
					n += calls
				}
			}
		}
		return n
	}
	for i, d := range clienttest.Drivers {
		for _, c := range []struct {
			prefix string
			want   int
		}{{"{shop}:", 1}, {"shop:", 3}} {
			client := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{Owner: "A", TTL: clienttest.Long, Prefix: c.prefix})
			t.Cleanup(func() { _ = client.Close() })
			for range 2 { // the first time the server may not know the script
				before := evals()
				lease, err := client.Multi("a", "b", "c").TryLock(t.Context())
				if err != nil {
					t.Fatalf("driver %d, prefix %s: %v", i, c.prefix, err)
				}
				if got := evals() - before; got < c.want || got > 2*c.want {
					t.Errorf("driver %d, prefix %s: got %d commands, want %d", i, c.prefix, got, c.want)
				}
				for _, name := range lease.Names() {
					if lease.Token(name) <= 0 {
						t.Errorf("%s has no token", name)
					}
				}
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	nodes.Idle(t)
}

// The slot of several names moves, key by key: a Lock that finds its keys on two
// servers gets them all when they are on one, and a lease outlasts that.
func TestMultiWhileASlotMoves(t *testing.T) {
	const name = "moved"
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	for i, d := range clienttest.Drivers {
		options := holdfast.Options{Owner: "A", TTL: 5 * time.Second, Prefix: "{" + clienttest.LockKey(name) + "}:"}
		client := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &options)
		t.Cleanup(func() { _ = client.Close() })
		multi := client.Multi("a", "b", "c")
		lease, err := multi.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		nodes.MoveSlot(t, name, true, 20*time.Millisecond)
		if err := errors.Join(lease.Err(), lease.Release()); err != nil {
			t.Errorf("driver %d: after a move: %v", i, err)
		}
		finish := nodes.BeginMove(t, name) // fences are there already, the lock key and the queue nowhere
		got := make(chan error, 1)
		go func() {
			var err error
			lease, err = multi.Lock(t.Context())
			got <- err
		}()
		time.Sleep(300 * time.Millisecond)
		finish()
		if err := <-got; err != nil {
			t.Fatalf("driver %d: Lock while the slot moved: %v", i, err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	nodes.Idle(t)
}
