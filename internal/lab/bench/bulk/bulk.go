// Package bulk runs the workloads about large numbers: of leases, waiters, names, and
// dead processes.
package bulk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/report"
	"github.com/holdfast-go/holdfast/internal/lab/bench/workload"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// Scale is how much of a bulk workload is done.
type Scale int

const (
	// Quick takes seconds, and shows that all runs: its figures are of little
	// worth.
	Quick Scale = iota
	// Full is what the limits are about.
	Full
)

// run measures a bulk workload.
type run func(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error)

var runs = map[string]run{
	"B8": leasesInBulk, "B9": waitersInBulk, "B10": growth, "B11": deadCrowd,
	"F4": holders, "F5": readers, "F11": revokes,
}

// Run runs the bulk workloads whose name matches, each on a server of its own,
// and tells talk how far it is. A workload that fails costs its rows.
func Run(scale Scale, matching *regexp.Regexp, talk io.Writer) (rows []report.BulkRow, failed error) {
	for _, w := range workload.AllBulk() {
		if matching != nil && !matching.MatchString(w.Name) {
			continue
		}
		fmt.Fprintf(talk, "bench: %s: %s\n", w.Name, w.What)
		found, err := runs[w.Name].onItsOwn(scale, talk)
		if err != nil {
			err = fmt.Errorf("%s: %w", w.Name, err)
			fmt.Fprintf(talk, "bench: no row: %v\n", err)
			failed = errors.Join(failed, err)
		}
		rows = append(rows, found...)
	}
	return rows, failed
}

// onItsOwn runs a bulk workload on a server of its own.
func (r run) onItsOwn(scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	dir, err := os.MkdirTemp("", "holdfast-bulk")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server, err := redistest.Run(dir, redistest.Options{})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	return r(server, scale, talk)
}

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
