//go:build unix

// Package cluster_test tests locks on a Redis Cluster whose slots move.
package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/labtest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

var contendedNames = flag.Int("names", 2000, "contended names in a Cluster, for TestClusterNames")

// What a name in a Cluster may cost a Client that waits for it, without the callers' own
// goroutines.
const (
	connectionsPerNode = 3
	bytesPerName       = 16 << 10
	goroutinesPerName  = 1
)

// Names in a Cluster for which a Client waits share connections, and none of them fails.
func TestClusterNames(t *testing.T) {
	nodes := labtest.Cluster(redistest.Cluster(t, 3, 0))
	labtest.EachDriver(t, func(t *testing.T, d labtest.Library) {
		crowd := wantNames(t, d, nodes, *contendedNames)
		crowd.cost(t)
		crowd.serve(t)
		labtest.Eventually(t, "the connections of the subscriptions end", func() bool { return slices.Max(listeners(t, nodes)) == 0 })
	})
}

// wanted is names that one Client holds and another waits for.
type wanted struct {
	nodes  labtest.Cluster
	leases []*holdfast.Lease
	got    chan error
	bytes  int // of the Client that waits
	others int // goroutines beside its callers
}

// wantNames locks the names and waits for them with another Client.
func wantNames(t *testing.T, d labtest.Library, nodes labtest.Cluster, names int) *wanted {
	t.Helper()
	c := &wanted{
		nodes: nodes,
		got:   make(chan error, names),
	}
	holder := holdfast.New(d.Open(t, nodes.URL(), labtest.Way{}), &holdfast.Options{TTL: time.Minute})
	t.Cleanup(func() { _ = holder.Close() })
	waiter := holdfast.New(d.Open(t, nodes.URL(), labtest.Way{}), &holdfast.Options{TTL: time.Minute})
	t.Cleanup(func() { _ = waiter.Close() })
	prefix := strings.ReplaceAll(t.Name(), "/", ":")
	c.leases = lockAll(t, holder, prefix, names)
	releaseAll(t, lockAll(t, waiter, prefix+":warm", 256)) // it has its connections for commands
	heap, stack := inUse()
	running := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for i := range names {
		go func() {
			lease, err := waiter.Mutex(fmt.Sprint(prefix, i)).Lock(ctx)
			if err == nil {
				err = lease.Release()
			}
			c.got <- err
		}()
	}
	labtest.Eventually(t, "all wait in the queue", func() bool { return queues(t, nodes, prefix) == names })
	labtest.Eventually(t, "few goroutines are left", func() bool { return runtime.NumGoroutine()-running <= names*(1+goroutinesPerName)+64 })
	heapThen, stackThen := inUse()
	c.others = runtime.NumGoroutine() - running - names
	c.bytes = heapThen - heap + (stackThen-stack)*c.others/(c.others+names)
	return c
}

// lockAll locks many names at once.
func lockAll(t *testing.T, client *holdfast.Client, prefix string, names int) []*holdfast.Lease {
	t.Helper()
	const callers = 64
	leases := make([]*holdfast.Lease, names)
	var locks sync.WaitGroup
	for first := range callers {
		locks.Go(func() {
			for i := first; i < names; i += callers {
				lease, err := client.Mutex(fmt.Sprint(prefix, i)).Lock(t.Context())
				if err != nil {
					t.Error(err)
				}
				leases[i] = lease
			}
		})
	}
	locks.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return leases
}

// releaseAll releases many leases, a few at a time: a Release waits two seconds
// for its answer, which is too short for all at once on a busy machine.
func releaseAll(t *testing.T, leases []*holdfast.Lease) {
	t.Helper()
	const callers = 64
	var releases sync.WaitGroup
	for first := range callers {
		releases.Go(func() {
			for i := first; i < len(leases); i += callers {
				if err := leases[i].Release(); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	releases.Wait()
}

// inUse is the memory in use: of the heap, and of stacks.
func inUse() (heap, stack int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc), int(m.StackInuse)
}

// queues counts the names with a prefix that somebody waits for.
func queues(t *testing.T, nodes labtest.Cluster, prefix string) (n int) {
	t.Helper()
	for _, node := range nodes {
		count := node.MustDo(t, "EVAL", "return #redis.call('KEYS', 'holdfast/queue:{holdfast:' .. ARGV[1] .. '*')", 0, prefix)
		here, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		n += here
	}
	return n
}

func (c *wanted) cost(t *testing.T) {
	t.Helper()
	names := len(c.leases)
	counts := listeners(t, c.nodes)
	t.Logf("%d names: subscription connections per node %v, %.1f KiB and %.3f goroutines for each name",
		names, counts, float64(c.bytes)/float64(names)/1024, float64(c.others)/float64(names))
	if got := slices.Max(counts); got > connectionsPerNode {
		t.Errorf("got %d subscription connections to one node, want at most %d", got, connectionsPerNode)
	}
	if got := c.bytes / names; got > bytesPerName {
		t.Errorf("got %d bytes for each name, want at most %d", got, bytesPerName)
	}
	if c.others > names*goroutinesPerName+64 {
		t.Errorf("got %d goroutines for %d names beside their callers, want at most %d for each", c.others, names, goroutinesPerName)
	}
}

// serve releases all names; each waiter gets its own.
func (c *wanted) serve(t *testing.T) {
	t.Helper()
	releaseAll(t, c.leases)
	for range c.leases {
		select {
		case err := <-c.got:
			if err != nil {
				t.Errorf("a waiter: %v", err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("not all are served after two minutes")
		}
	}
}
