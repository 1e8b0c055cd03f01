package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

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

// bulkRuns measure the bulk workloads.
var bulkRuns = map[string]func(server *redistest.Server, scale Scale, talk io.Writer) ([]BulkRow, error){
	"B8": leasesInBulk, "B9": waitersInBulk, "B10": growth, "B11": deadCrowd,
	"F4": holders, "F5": readers, "F11": revokes,
}

// Bulk runs the bulk workloads whose name matches, each on a server of its own,
// and tells talk how far it is. A workload that fails costs its rows.
func Bulk(scale Scale, run *regexp.Regexp, talk io.Writer) (rows []BulkRow, failed error) {
	for _, w := range allBulk() {
		if run != nil && !run.MatchString(w.name) {
			continue
		}
		fmt.Fprintf(talk, "bench: %s: %s\n", w.name, w.what)
		found, err := onItsOwn(bulkRuns[w.name], scale, talk)
		if err != nil {
			err = fmt.Errorf("%s: %w", w.name, err)
			fmt.Fprintf(talk, "bench: no row: %v\n", err)
			failed = errors.Join(failed, err)
		}
		rows = append(rows, found...)
	}
	return rows, failed
}

// onItsOwn runs a bulk workload on a server of its own.
func onItsOwn(run func(*redistest.Server, Scale, io.Writer) ([]BulkRow, error), scale Scale, talk io.Writer) ([]BulkRow, error) {
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
	return run(server, scale, talk)
}
