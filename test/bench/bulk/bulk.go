// Package bulk runs the workloads about large numbers: of leases, waiters, names, and
// dead processes.
package bulk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// run measures a bulk workload.
type run func(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error)

var runs = map[string]run{
	"B8": leasesInBulk, "B9": waitersInBulk, "B10": growth, "B11": deadWaiters,
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

var jobs = map[string]func(order) (job, error){
	"leases": newLeasesJob,
	"queue":  newQueueJob,
	"line":   newLineJob,
	"poll":   newPollJob,
}

// IsChild reports whether this process was started as a child of a bulk
// workload.
func IsChild() bool { return os.Getenv(childVariable) != "" }

// Child does one job in a process of its own.
func Child(stdin io.Reader, stdout io.Writer) error {
	lines := child.NewLines(stdin)
	var o order
	if err := lines.Read(&o); err != nil {
		return err
	}
	begin, ok := jobs[o.Job]
	if !ok {
		return fmt.Errorf("no job %q", o.Job)
	}
	do, err := begin(o)
	if err != nil {
		return err
	}
	for {
		var word string
		if lines.Read(&word) != nil {
			return nil // the parent is done
		}
		answer, err := do(word)
		if err != nil {
			return err
		}
		if err := child.Say(stdout, answer); err != nil {
			return err
		}
	}
}
