//go:build unix

package many_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// replicated starts a master with two replicas.
func replicated(t *testing.T) (master *redistest.Server, replicas []*redistest.Server) {
	t.Helper()
	master = redistest.Start(t, redistest.Options{Config: []string{"repl-diskless-sync-delay 0"}})
	return master, redistest.Replicas(t, master, 2)
}

// copied makes a Client whose grants both replicas must have.
func copied(t *testing.T, d clienttest.Library, url string, ttl time.Duration) (*holdfast.Client, *clienttest.Journal) {
	t.Helper()
	j := &clienttest.Journal{}
	client := holdfast.New(d.Open(t, url, clienttest.Way{}), &holdfast.Options{TTL: ttl, WaitReplicas: 2, OnEvent: j.Note})
	t.Cleanup(func() { _ = client.Close() })
	return client, j
}

func stun(t *testing.T, server *redistest.Server) {
	t.Helper()
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Thaw() })
}

func thaw(t *testing.T, server *redistest.Server) {
	t.Helper()
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
}

// tooFew wants a lock to be refused with the number of replicas that had it.
func tooFew(t *testing.T, err error, want int) {
	t.Helper()
	few, ok := errors.AsType[*holdfast.ReplicasError](err)
	if !ok || !errors.Is(err, holdfast.ErrReplicas) || few.Want != 2 || few.Got != want {
		t.Errorf("got %v, want that %d of 2 replicas acknowledged", err, want)
	}
}

// While a replica is frozen no lock is given, answered or pushed; the error has
// the numbers, and the name is free afterwards.
func TestReplicasFrozen(t *testing.T) {
	t.Parallel()
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		master, replicas := replicated(t)
		a, _ := copied(t, d, master.URL(), 5*time.Second)
		b, _ := copied(t, d, master.URL(), 5*time.Second)
		free := func() {
			t.Helper()
			clienttest.Eventually(t, "the name is free", func() bool { return clienttest.Gone(t, master, "n") })
		}
		lease := clienttest.Take(t, a, "n")
		if got := lease.Replicas(); got != 2 {
			t.Errorf("an answered grant: got %d replicas, want 2", got)
		}
		waiting := clienttest.Asking(t.Context(), b.Mutex("n"))
		clienttest.Eventually(t, "B waits in the queue", func() bool { return master.MustDo(t, "ZCARD", clienttest.QueueKey("n")) == "1" })
		clienttest.GiveBack(t, lease)
		lease = waiting.Lease(t)
		if got := lease.Replicas(); got != 2 {
			t.Errorf("a pushed grant: got %d replicas, want 2", got)
		}
		waiting = clienttest.Asking(t.Context(), a.Mutex("n"))
		clienttest.Eventually(t, "A waits in the queue", func() bool { return master.MustDo(t, "ZCARD", clienttest.QueueKey("n")) == "1" })
		stun(t, replicas[0])
		clienttest.GiveBack(t, lease) // A is granted the name by a push
		tooFew(t, waiting.Answer(t).Err, 1)
		free()
		tooFew(t, clienttest.Asking(t.Context(), a.Mutex("n")).Answer(t).Err, 1)
		free()
		stun(t, replicas[1])
		tooFew(t, clienttest.Asking(t.Context(), b.Mutex("n")).Answer(t).Err, 0)
		free()
		thaw(t, replicas[0])
		thaw(t, replicas[1])
		clienttest.Eventually(t, "the name can be had", func() bool {
			lease, err := a.Mutex("n").Lock(t.Context())
			if err == nil {
				clienttest.GiveBack(t, lease)
			}
			return err == nil
		})
	})
}

// Where there are no replicas a lock fails at once and says so, and where INFO is
// not allowed, after WAIT.
func TestReplicasMissing(t *testing.T) {
	t.Parallel()
	const rights = "~holdfast* &holdfast/* +@all -info"
	plain := redistest.Start(t, redistest.Options{ACL: []string{
		"user quiet on >pw " + rights,
		"user app on >pw " + rights + " -wait",
	}})
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		for user, want := range map[string]string{
			"":          "0 of 2 replicas acknowledged the lock of n: the server has no replica",
			"quiet:pw@": "0 of 2 replicas acknowledged the lock of n",
		} {
			client, _ := copied(t, d, "redis://"+user+plain.Addr(), 3*time.Second)
			err := clienttest.Asking(t.Context(), client.Mutex("n")).Answer(t).Err
			tooFew(t, err, 0)
			if got := err.Error(); got != "holdfast: "+want {
				t.Errorf("got %q, want %q", got, want)
			}
			clienttest.Eventually(t, "the name is free", func() bool { return clienttest.Gone(t, plain, "n") })
		}
		client, _ := copied(t, d, "redis://app:pw@"+plain.Addr(), 3*time.Second)
		err := clienttest.Asking(t.Context(), client.Mutex("n")).Answer(t).Err
		if said, ok := errors.AsType[driver.ServerError](err); !ok || !strings.HasPrefix(string(said), "NOPERM") || !strings.Contains(string(said), "wait") {
			t.Errorf("without the right to WAIT: got %v, want NOPERM", err)
		}
	})
}

// A lock survives the loss of its master: the replica that takes over knows it,
// and when there are enough replicas again it is renewed.
func TestReplicaTakesOver(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel()
		g := redistest.Sentinel(t, 2)
		client, told := copied(t, d, g.URL(), time.Minute)
		lease := clienttest.Take(t, client, "n")
		id := g.Master.MustDo(t, "GET", clienttest.LockKey("n"))
		g.Master.Kill()
		old := g.Promoted(t)
		if got := g.Master.MustDo(t, "GET", clienttest.LockKey("n")); got != id {
			t.Fatalf("the new master has L = %q, want %q", got, id)
		}
		if err := old.Restart(true); err != nil {
			t.Fatal(err)
		}
		g.Follow(t, old)
		clienttest.More[holdfast.Renewed](t, told, 1)
		if err := lease.Err(); err != nil || lease.Replicas() != 2 {
			t.Errorf("after the failover: %v, %d replicas; want nil, 2", err, lease.Replicas())
		}
		clienttest.GiveBack(t, lease)
		next := clienttest.Take(t, client, "n")
		if next.Token() <= lease.Token() {
			t.Errorf("token %d after %d", next.Token(), lease.Token())
		}
		clienttest.GiveBack(t, next)
	})
}

// WAIT speaks of the very calls that were sent with it: on any other connection
// a frozen replica would have acknowledged all there is.
func TestDriverEvalWait(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		master := redistest.Start(t, redistest.Options{Config: []string{"repl-diskless-sync-delay 0"}})
		replica := redistest.Replicas(t, master, 1)[0]
		calls := make([]driver.Call, 100)
		for i := range calls {
			calls[i] = driver.Call{Script: clienttest.Lua("return redis.call('INCR', KEYS[1])"), Keys: []string{fmt.Sprint("k", i)}}
		}
		for protocol, w := range clienttest.Protocols {
			t.Run(protocol, func(t *testing.T) {
				store := d.Open(t, master.URL(), w)
				wait := func(want int) []driver.Result {
					t.Helper()
					timeout := clienttest.Patience
					if want == 0 {
						timeout = 300 * time.Millisecond
					}
					results, acked, err := store.EvalWait(t.Context(), calls, 1, timeout)
					if err != nil || acked != want || len(results) != len(calls) {
						t.Fatalf("got %d results, %d acknowledgements, %v, want %d acknowledgements", len(results), acked, err, want)
					}
					return results
				}
				master.MustDo(t, "FLUSHALL")
				master.MustDo(t, "SCRIPT", "FLUSH")
				for i, want := range []string{"1", "2"} { // by source, then by SHA
					for k, result := range wait(1) {
						if result.Err != nil || !slices.Equal(result.Reply, []string{want}) {
							t.Fatalf("round %d, call %d: got %q, %v", i, k, result.Reply, result.Err)
						}
					}
				}
				stun(t, replica)
				for range 3 {
					wait(0)
				}
				thaw(t, replica)
				wait(1)
			})
		}
	})
}

// In a Cluster WAIT goes to the server of the slot, also while that moves.
func TestDriverEvalWaitInACluster(t *testing.T) {
	nodes := redistest.Cluster(t, 3, 1)
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		store := d.Open(t, "cluster://"+nodes[0].Addr()+","+nodes[1].Addr(), clienttest.Way{})
		incr := func(key string) {
			t.Helper()
			call := driver.Call{Script: clienttest.Lua("return redis.call('INCR', KEYS[1])"), Keys: []string{key}}
			results, acked, err := store.EvalWait(t.Context(), []driver.Call{call}, 1, 5*time.Second)
			if err != nil || results[0].Err != nil || acked != 1 {
				t.Fatalf("%s: got %v, %d acknowledgements, %v; want 1", key, results, acked, err)
			}
		}
		for i := range 20 {
			incr(fmt.Sprint("k", i))
		}
		key := "moving-" + d.Name
		incr(key)
		slot := nodes[0].MustDo(t, "CLUSTER", "KEYSLOT", key)
		var from, to *redistest.Server
		for _, n := range nodes[:3] {
			if n.MustDo(t, "CLUSTER", "COUNTKEYSINSLOT", slot) != "0" {
				from = n
			} else {
				to = n
			}
		}
		fromID, toID := from.MustDo(t, "CLUSTER", "MYID"), to.MustDo(t, "CLUSTER", "MYID")
		host, port, _ := strings.Cut(to.Addr(), ":")
		to.MustDo(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
		from.MustDo(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
		from.MustDo(t, "MIGRATE", host, port, key, 0, 5000)
		incr(key) // ASK
		for _, n := range []*redistest.Server{to, from} {
			n.MustDo(t, "CLUSTER", "SETSLOT", slot, "NODE", toID)
		}
		incr(key) // MOVED
		if got := to.MustDo(t, "GET", key); got != "3" {
			t.Errorf("got %s, want 3", got)
		}
	})
}

// Leases of many names are renewed together, with one WAIT behind a pipeline.
func TestReplicasOneWaitForMany(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		master, _ := replicated(t)
		client, told := copied(t, d, master.URL(), time.Minute)
		const names = 100
		leases := make([]*holdfast.Lease, names)
		for i := range leases {
			leases[i] = clienttest.Take(t, client, fmt.Sprint(i))
		}
		before, err := master.CommandStats()
		if err != nil {
			t.Fatal(err)
		}
		waiting := clienttest.Asking(t.Context(), client.Mutex("0")) // subscribes, and then renews all
		clienttest.More[holdfast.Renewed](t, told, names)
		after, err := master.CommandStats()
		if err != nil {
			t.Fatal(err)
		}
		if got := after["wait"] - before["wait"]; got < 1 || got > names/2 {
			t.Errorf("%d names were renewed with %d times WAIT", names, got)
		}
		clienttest.GiveBack(t, leases[0])
		clienttest.GiveBack(t, waiting.Lease(t))
		for _, lease := range leases[1:] {
			clienttest.GiveBack(t, lease)
		}
	})
}
