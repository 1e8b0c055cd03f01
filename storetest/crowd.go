package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// crowd: so many ask at once that their requests go out by EvalAll, those of two
// processes that want the same names.
func (s suite) crowd(t *testing.T) {
	const names, each = 100, 3
	var inside [names]atomic.Int32
	var tokens [names]atomic.Int64
	var all sync.WaitGroup
	for range 2 {
		c := s.client(t, 0)
		for i := range names {
			all.Go(func() {
				for range each {
					lease, err := c.Mutex(fmt.Sprint("crowd:", i)).Lock(within(t))
					if err != nil {
						t.Errorf("Lock: %v", err)
						return
					}
					if inside[i].Add(1) > 1 {
						t.Errorf("two hold name %d", i)
					}
					if last := tokens[i].Swap(lease.Token()); last >= lease.Token() {
						t.Errorf("name %d: token %d after %d: tokens must rise", i, lease.Token(), last)
					}
					inside[i].Add(-1)
					if err := lease.Release(); err != nil {
						t.Errorf("Release: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
}
