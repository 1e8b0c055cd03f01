//go:build unix

package cluster_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// While the slot of an RWMutex moves key by key, again and again, readers and
// writers go on, no lease is lost, and a writer is never beside anybody.
func TestSharedWhileASlotMoves(t *testing.T) {
	const name, ttl = "shared-moving", 3 * time.Second
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	var reads, writes, inside, last atomic.Int64 // inside: readers, and 1000 for a writer
	over := make(chan struct{})
	var all sync.WaitGroup
	for i := range 6 {
		c := holdfast.New(clienttest.Drivers[i%2].Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{TTL: ttl})
		t.Cleanup(func() { _ = c.Close() })
		rw := c.RWMutex(name)
		all.Go(func() {
			for n := i; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				lock, count, weight := rw.RLock, &reads, int64(1)
				if n%3 == 0 {
					lock, count, weight = rw.Lock, &writes, 1000
				}
				lease, err := lock(t.Context())
				if errors.Is(err, holdfast.ErrUnreachable) {
					continue // a move that lasts
				}
				if err != nil {
					t.Error(err)
					return
				}
				if got := inside.Add(weight); got > 999 && got != 1000 {
					t.Errorf("a writer is not alone: %d inside", got)
				}
				if weight > 1 && last.Swap(lease.Token()) >= lease.Token() {
					t.Error("a writer's token did not rise")
				}
				time.Sleep(10 * time.Millisecond)
				if err := lease.Err(); err != nil {
					t.Errorf("a lease was lost: %v", err)
				}
				inside.Add(-weight)
				if err := lease.Release(); err != nil && !errors.Is(err, holdfast.ErrUnknown) {
					t.Errorf("Release: %v", err)
				}
				count.Add(1)
			}
		})
	}
	keys := 0
	for range 8 {
		keys += nodes.MoveSlot(t, name, true, 50*time.Millisecond)
		time.Sleep(300 * time.Millisecond)
	}
	close(over)
	all.Wait()
	nodes.Idle(t)
	t.Logf("%d reads and %d writes while %d keys moved", reads.Load(), writes.Load(), keys)
	if reads.Load() < 50 || writes.Load() < 20 || keys < 8 {
		t.Error("too little has happened to prove anything")
	}
}
