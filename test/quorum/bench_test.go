//go:build unix

package quorum_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// BenchmarkQuorum is lock and release on a quorum of three servers, each of a name of
// its own.
func BenchmarkQuorum(b *testing.B) {
	d := clienttest.Deploy(b, 3)
	for _, lib := range clienttest.Drivers {
		stores := make([]driver.Store, len(d.Servers))
		for i, server := range d.Servers {
			stores[i] = lib.Open(b, "redis://"+server.Addr(), clienttest.Way{})
		}
		client := holdfast.NewQuorum(d.ID, nil, stores...)
		for _, callers := range []int{1, 8, 64, 512} {
			b.Run(fmt.Sprintf("%s/callers=%d", lib.Name, callers), func(b *testing.B) {
				var number atomic.Int64
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for i := number.Add(1); i <= int64(b.N); i = number.Add(1) {
							lease, err := client.Mutex(fmt.Sprint(i)).Lock(b.Context())
							if err == nil {
								err = lease.Release()
							}
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "locks/s")
			})
		}
		if err := client.Close(); err != nil {
			b.Error(err)
		}
	}
}
