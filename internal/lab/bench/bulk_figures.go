package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
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
