package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"text/tabwriter"

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

// Figure is one thing that a bulk workload measured.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Limit string  `json:"limit,omitempty"` // empty: it is only reported
	Met   bool    `json:"met"`             // true where there is no limit
}

// BulkRow is what one contender did in a bulk workload. Their figures are not
// those of callers in a loop, and each workload has its own.
type BulkRow struct {
	Workload string   `json:"workload"`
	Who      string   `json:"who"`
	Figures  []Figure `json:"figures"`
}

// bulkWorkload is one that is about numbers: of leases, of who waits, of names,
// of the dead.
type bulkWorkload struct {
	name string
	what string
	run  func(server *redistest.Server, scale Scale, talk io.Writer) ([]BulkRow, error)
}

var bulkWorkloads = []bulkWorkload{
	{"B8", "100,000 leases held by one process", leasesInBulk},
	{"B9", "100 clients × 100 callers, and 10,000 clients, wait for one name", waitersInBulk},
	{"B10", "growth with the number of waiters and of names", growth},
	{"B11", "10,000 waiters of a killed process in front of a living one", deadCrowd},
}

// Bulk runs the bulk workloads whose name matches, each on a server of its own,
// and tells talk how far it is. A workload that fails costs its rows.
func Bulk(scale Scale, run *regexp.Regexp, talk io.Writer) (rows []BulkRow, failed error) {
	for _, w := range slices.Concat(bulkWorkloads, familyBulk) {
		if run != nil && !run.MatchString(w.name) {
			continue
		}
		fmt.Fprintf(talk, "bench: %s: %s\n", w.name, w.what)
		found, err := w.onItsOwn(scale, talk)
		if err != nil {
			err = fmt.Errorf("%s: %w", w.name, err)
			fmt.Fprintf(talk, "bench: no row: %v\n", err)
			failed = errors.Join(failed, err)
		}
		rows = append(rows, found...)
	}
	return rows, failed
}

func (w bulkWorkload) onItsOwn(scale Scale, talk io.Writer) ([]BulkRow, error) {
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
	return w.run(server, scale, talk)
}

// PrintBulk writes the rows for people.
func PrintBulk(w io.Writer, rows []BulkRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(table, "%s, %s\n", r.Workload, r.Who)
		for _, f := range r.Figures {
			fmt.Fprintf(table, "  %s\t%.4g %s\t%s\n", f.Name, f.Value, f.Unit, f.verdict())
		}
	}
	return table.Flush()
}

func (f Figure) verdict() string {
	switch {
	case f.Limit == "":
		return ""
	case f.Met:
		return f.Limit + ": met"
	}
	return f.Limit + ": not met"
}

// bulkFigures collects those of a row.
type bulkFigures struct{ all []Figure }

func (f *bulkFigures) note(name string, value float64, unit string) {
	f.all = append(f.all, Figure{Name: name, Value: value, Unit: unit, Met: true})
}

func (f *bulkFigures) atMost(bound float64, name string, value float64, unit string) {
	f.all = append(f.all, Figure{name, value, unit, fmt.Sprintf("≤ %.6g", bound), value <= bound})
}

func (f *bulkFigures) atLeast(bound float64, name string, value float64, unit string) {
	f.all = append(f.all, Figure{name, value, unit, fmt.Sprintf("≥ %.6g", bound), value >= bound})
}
