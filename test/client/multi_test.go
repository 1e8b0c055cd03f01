//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Two processes try overlapping names, all free, at the same time: in each round at
// least one of them gets what it wants. And one that tries names of which one is
// held, without a pause, never keeps the other from its own.
func TestMultiContenders(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	clients := []*holdfast.Client{clienttest.HoldfastOn(t, clienttest.Drivers[0], server.URL(), "A"), clienttest.HoldfastOn(t, clienttest.Drivers[1], server.URL(), "B")}
	names := [][]string{{"x", "y", "z"}, {"w", "y", "z"}}
	both, rounds := 0, 500
	for range rounds {
		var won [2]*holdfast.MultiLease
		var running sync.WaitGroup
		start := make(chan struct{})
		for i, c := range clients {
			running.Go(func() {
				<-start
				lease, err := c.Multi(names[i]...).TryLock(t.Context())
				if err != nil && !errors.Is(err, holdfast.ErrHeld) {
					t.Error(err)
				}
				won[i] = lease
			})
		}
		close(start)
		running.Wait()
		if won[0] == nil && won[1] == nil {
			t.Fatal("both tries of free names failed")
		}
		if won[0] != nil && won[1] != nil {
			both++
		}
		for _, lease := range won {
			if lease != nil && lease.Release() != nil {
				t.Fatal("Release")
			}
		}
	}
	if both > 0 {
		t.Errorf("in %d of %d rounds both had y and z", both, rounds)
	}

	held := clienttest.Take(t, clients[0], "z")
	over := make(chan struct{})
	hammering := sync.WaitGroup{}
	failed := 0
	hammering.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			if _, err := clients[1].Multi("x", "y", "z").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("a try of a held name: got %v, want ErrHeld", err)
			}
			failed++
		}
	})
	third := clienttest.HoldfastOn(t, clienttest.Drivers[0], server.URL(), "C")
	for range rounds {
		lease, err := third.Multi("w", "x").TryLock(t.Context())
		if err != nil {
			t.Errorf("a try of free names: %v", err)
			break
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	close(over)
	hammering.Wait()
	if t.Logf("%d tries of a held name beside %d of free ones", failed, rounds); failed < 10 {
		t.Error("too few to have disturbed anybody")
	}
	clienttest.GiveBack(t, held)
	clienttest.NothingLeftSoon(t, server, "w", "x", "y", "z")
}

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
