// Package report keeps what a run found, compares it, and makes docs/benchmarks.md of it.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/holdfast-go/holdfast/test/bench/callers"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
)

// LatestFile has the committed figures, and PageFile is made of them. Both are below the root of
// the repository.
const (
	LatestFile = "docs/benchmarks/latest.json"
	PageFile   = "docs/benchmarks.md"
)

// Report is what a run found.
type Report struct {
	Measured map[string]string `json:"measured"` // how, by the word that rows have for it
	Rows     []Row             `json:"rows"`
}

// Row is one contender in one workload.
type Row struct {
	Workload string          `json:"workload"`
	Who      string          `json:"who"`
	Measured string          `json:"measured"`
	Settings string          `json:"settings,omitempty"` // of the contender
	Figures  Figures         `json:"figures"`            // see Merge
	Each     map[int]Figures `json:"each,omitempty"`     // by round
}

// Figures are what was measured, by name and unit.
type Figures map[string]float64

// The figures that runs are compared by.
const (
	ops        = "ops_per_s"
	lastServed = "last waiter served after the release, ms"
)

// Merge makes the figures of the row from those of the rounds: the median, but the longest wait is
// that of all rounds, and overlaps and failures are added up.
func (row *Row) Merge() {
	row.Figures = Figures{}
	for _, f := range row.Each {
		for name := range f {
			f[name] = fiveDigits(f[name])
			row.Figures[name] = 0
		}
	}
	for name := range row.Figures {
		values := row.values(name)
		switch name {
		case "max_us":
			row.Figures[name] = slices.Max(values)
		case "overlaps", "failed":
			for _, v := range values {
				row.Figures[name] += v
			}
		default:
			row.Figures[name] = fiveDigits(spreadOf(values).mid)
		}
	}
}

// values are a figure of all rounds.
func (row *Row) values(name string) (values []float64) {
	for _, f := range row.Each {
		values = append(values, f[name])
	}
	return values
}

// fiveDigits rounds, so that what is committed is no longer than what was measured.
func fiveDigits(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow10(5 - int(math.Ceil(math.Log10(math.Abs(x)))))
	return math.Round(x*unit) / unit
}

// spread is a figure, or a ratio, over the rounds.
type spread struct{ mid, least, most, err float64 }

// spreadOf is the median, and how far that of another run is likely to differ: 0.93 of the distance
// between the quartiles, over the root of the number of rounds.
func spreadOf(values []float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	slices.Sort(values)
	return spread{
		(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1],
		0.93 * (values[n-1-n/4] - values[n/4]) / math.Sqrt(float64(n)),
	}
}

// over is a figure of one row divided by one of another, round by round: what slows the machine for
// a while slows both.
func (row *Row) over(figure string, other *Row, of string) spread {
	var values []float64
	for round, f := range row.Each {
		if by := other.Each[round][of]; by > 0 {
			values = append(values, f[figure]/by)
		}
	}
	return spreadOf(values)
}

func (row *Row) isOurs() bool { return rivals.Contender{Name: row.Who}.IsOurs() }

// row is nil if there is none.
func (r *Report) row(workload, who string) *Row {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Workload == workload && row.Who == who })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

// best is the other library with the most locks per second in a workload, on a client library if one
// is given. If two held one name at once, its lock does not count.
func (r *Report) best(workload, library string) (best *Row) {
	for i := range r.Rows {
		row := &r.Rows[i]
		_, c, known := callers.Find(row.Workload, row.Who)
		if row.Workload != workload || !known || !c.IsPeer() || library != "" && c.Library != library ||
			row.Figures["overlaps"] > 0 || row.Figures[ops] == 0 {
			continue
		}
		if best == nil || row.Figures[ops] > best.Figures[ops] {
			best = row
		}
	}
	return best
}

// Overlapped is an error if holdfast let two hold one name. What others do is only reported.
func (r *Report) Overlapped() error {
	for _, row := range r.Rows {
		if row.isOurs() && row.Figures["overlaps"] > 0 {
			return fmt.Errorf("%s, %s: %g overlaps of two holders", row.Workload, row.Who, row.Figures["overlaps"])
		}
	}
	return nil
}

// Read reads the committed figures.
func Read() (*Report, error) {
	text, err := os.ReadFile(LatestFile)
	if err != nil {
		return nil, fmt.Errorf("%w: run this from the root of the repository", err)
	}
	r := &Report{}
	return r, json.Unmarshal(text, r)
}

// WriteJSON writes each row in a line of its own, so that a diff shows the rows that changed.
func (r *Report) WriteJSON(w io.Writer) error {
	measured, err := json.MarshalIndent(r.Measured, "  ", "  ")
	if err != nil {
		return err
	}
	rows := make([][]byte, len(r.Rows))
	for i, row := range r.Rows {
		if rows[i], err = json.Marshal(row); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "{\n  \"measured\": %s,\n  \"rows\": [\n    %s\n  ]\n}\n", measured, bytes.Join(rows, []byte(",\n    ")))
	return err
}

// With is the report with what a later one measured in place of what it had of the same workloads.
func (r *Report) With(later *Report) *Report {
	all := &Report{Measured: map[string]string{}}
	all.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		return slices.ContainsFunc(later.Rows, func(l Row) bool { return l.Workload == row.Workload })
	})
	all.Rows = append(all.Rows, later.Rows...)
	maps.Copy(all.Measured, r.Measured)
	maps.Copy(all.Measured, later.Measured)
	maps.DeleteFunc(all.Measured, func(word, _ string) bool {
		return !slices.ContainsFunc(all.Rows, func(row Row) bool { return row.Measured == word })
	})
	return all
}

// Save keeps the report and makes the page of it.
func (r *Report) Save() error {
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		return err
	}
	if err := os.WriteFile(LatestFile, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(PageFile, r.Page(), 0o644)
}
