package bulk

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Scale is the size of a bulk workload.
type Scale int

const (
	// Quick takes seconds, and shows that all runs: its figures are of little
	// worth.
	Quick Scale = iota
	// Full is what the limits are about.
	Full
)

// configure sets parameters of the server.
func configure(server *redistest.Server, settings map[string]string) error {
	for name, value := range settings {
		if _, err := server.Do("CONFIG", "SET", name, value); err != nil {
			return err
		}
	}
	return nil
}

// newRueidis is a client for many commands at once.
func newRueidis(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true, ConnWriteTimeout: time.Minute,
	})
}

// heap is the bytes in live objects of this process.
func heap() float64 {
	var m runtime.MemStats
	for range 3 { // what a pool holds lives for two
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// inParallel does something n times, by hands at once, and returns their errors.
func inParallel(n, hands int, do func(i int) error) error {
	failed := make([]error, hands)
	var wg sync.WaitGroup
	for h := range hands {
		wg.Go(func() {
			for i := h; i < n && failed[h] == nil; i += hands {
				failed[h] = do(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// untilSo waits until something is so.
func untilSo(otherwise string, is func() (bool, error)) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if ok, err := is(); ok || err != nil {
			return err
		}
		if time.Since(began) > time.Minute {
			return errors.New(otherwise)
		}
	}
}
