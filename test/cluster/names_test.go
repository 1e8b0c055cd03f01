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

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

var contendedNames = flag.Int("names", 2000, "contended names in a Cluster, for TestClusterNames")

// callers is how many requests the test makes at once where it is to be calm.
const callers = 64

// What a name in a Cluster may cost a Client that waits for it, without the callers' own
// goroutines.
const (
	connectionsPerNode = 3
	heapPerName        = 8 << 10
	goroutinesPerName  = 1
)

// Names in a Cluster for which a Client waits share connections, and none of them fails.
func TestClusterNames(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		w := lockNames(t, d, nodes, *contendedNames)
		w.cost(t, *contendedNames/2)
		w.wait(t, *contendedNames-w.waiting)
		w.share(t)
		w.serve(t)
		clienttest.Eventually(t, "the connections of the subscriptions end", func() bool { return slices.Max(listeners(t, nodes)) == 0 })
	})
}

// wanted is names that one Client holds and another waits for.
type wanted struct {
	nodes   clienttest.Cluster
	prefix  string
	leases  []*holdfast.Lease
	waiter  *holdfast.Client
	waiting int // how many of the names it waits for
	got     chan error
}

// lockNames locks the names with one Client and opens another.
func lockNames(t *testing.T, d clienttest.Library, nodes clienttest.Cluster, names int) *wanted {
	t.Helper()
	holder := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{TTL: time.Minute})
	t.Cleanup(func() { _ = holder.Close() })
	waiter := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{TTL: time.Minute})
	t.Cleanup(func() { _ = waiter.Close() })
	prefix := strings.ReplaceAll(t.Name(), "/", ":")
	return &wanted{
		nodes:  nodes,
		prefix: prefix,
		leases: lockAll(t, holder, prefix, names),
		waiter: waiter,
		got:    make(chan error, names),
	}
}

// wait starts one more waiter for each of the next names, all at once, until all are in the queue.
func (w *wanted) wait(t *testing.T, names int) {
	t.Helper()
	for range names {
		m := w.waiter.Mutex(fmt.Sprint(w.prefix, w.waiting))
		w.waiting++
		go func() {
			lease, err := m.Lock(t.Context())
			if err == nil {
				err = lease.Release()
			}
			w.got <- err
		}()
	}
	clienttest.Eventually(t, "all wait in the queue", func() bool { return queues(t, w.nodes, w.prefix) == w.waiting })
}

// lockAll locks many names at once.
func lockAll(t *testing.T, client *holdfast.Client, prefix string, names int) []*holdfast.Lease {
	t.Helper()
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
func queues(t *testing.T, nodes clienttest.Cluster, prefix string) (n int) {
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

// cost waits for names, a few at a time, and checks what each of them costs. With many at
// once the reading would include what they leave behind together: go-redis keeps up to 512
// connections to each node, of 10 KiB, and the runtime, which goes by the average of all
// stacks, starts goroutines with 8 KiB instead of 4. Under the race detector they keep those, so
// the number of goroutines is what counts, not the size of their stacks.
func (w *wanted) cost(t *testing.T, names int) {
	t.Helper()
	releaseAll(t, lockAll(t, w.waiter, w.prefix+":warm", 256)) // it has its connections for commands
	heap, stack := inUse()
	running := runtime.NumGoroutine()
	for w.waiting < names {
		w.wait(t, min(callers, names-w.waiting))
	}
	clienttest.Eventually(t, "few goroutines are left", func() bool { return runtime.NumGoroutine()-running <= names*(1+goroutinesPerName)+64 })
	heapThen, stackThen := inUse()
	others := runtime.NumGoroutine() - running - names // beside the callers
	t.Logf("%d names: %.1f KiB of heap and %.3f goroutines for each; %.1f KiB of stack for each goroutine", names,
		float64(heapThen-heap)/float64(names)/1024, float64(others)/float64(names), float64(stackThen-stack)/float64(others+names)/1024)
	if got := (heapThen - heap) / names; got > heapPerName {
		t.Errorf("got %d bytes of heap for each name, want at most %d", got, heapPerName)
	}
	if others > names*goroutinesPerName+64 {
		t.Errorf("got %d goroutines for %d names beside their callers, want at most %d for each", others, names, goroutinesPerName)
	}
}

// share checks that the subscriptions share connections.
func (w *wanted) share(t *testing.T) {
	t.Helper()
	counts := listeners(t, w.nodes)
	t.Logf("%d names: subscription connections per node %v", w.waiting, counts)
	if got := slices.Max(counts); got > connectionsPerNode {
		t.Errorf("got %d subscription connections to one node, want at most %d", got, connectionsPerNode)
	}
}

// serve releases all names, a few at a time; each waiter gets its own.
func (w *wanted) serve(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var served sync.WaitGroup
	for first := range callers {
		served.Go(func() {
			for i := first; i < len(w.leases); i += callers {
				if err := w.leases[i].Release(); err != nil {
					t.Errorf("Release: %v", err)
				}
				select {
				case err := <-w.got:
					if err != nil {
						t.Errorf("a waiter: %v", err)
					}
				case <-ctx.Done():
					t.Error("not all are served after two minutes")
					return
				}
			}
		})
	}
	served.Wait()
}
