package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"
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
			fmt.Fprintf(table, "  %s\t%s\n", f.Name, f.shown())
		}
	}
	return table.Flush()
}

// BulkFigures collects those of a row.
type BulkFigures struct{ All []Figure }

// Note adds a figure without a goal.
func (f *BulkFigures) Note(name string, value float64, unit string) {
	f.All = append(f.All, Figure{Name: name, Value: value, Unit: unit, Met: true})
}

// AtMost adds a figure that must not be above a bound.
func (f *BulkFigures) AtMost(bound float64, name string, value float64, unit string) {
	f.All = append(f.All, Figure{name, value, unit, fmt.Sprintf("≤ %.6g", bound), value <= bound})
}

// AtLeast adds a figure that must not be below a bound.
func (f *BulkFigures) AtLeast(bound float64, name string, value float64, unit string) {
	f.All = append(f.All, Figure{name, value, unit, fmt.Sprintf("≥ %.6g", bound), value >= bound})
}

// Row is what one contender did.
func (f *BulkFigures) Row(workload, who string) BulkRow { return BulkRow{workload, who, f.All} }

// seriesOf is the first and the last value of a series, and the largest if it stands
// between them, each with its number.
func (row BulkRow) seriesOf(what, of string) string {
	var all []string
	largest, at := 0.0, 0
	for _, f := range row.Figures {
		if m := series.FindStringSubmatch(f.Name); m != nil && m[1] == what && m[3] == of {
			if f.Value > largest {
				largest, at = f.Value, len(all)
			}
			all = append(all, fmt.Sprintf("%s (%s)", fourDigits(f.Value), m[2]))
		}
	}
	last := len(all) - 1
	if at > 0 && at < last {
		return strings.Join([]string{all[0], all[at], all[last]}, ", ")
	}
	return all[0] + ", " + all[last]
}

// shown is the value, and the goal if there is one.
func (f Figure) shown() string {
	text, goal := strings.TrimSpace(fourDigits(f.Value)+" "+f.Unit), strings.ReplaceAll(f.Limit, " ", "")
	switch {
	case f.Limit == "":
		return text
	case f.Met:
		return text + " (goal " + goal + ")"
	}
	return text + " (goal " + goal + ", **not met**)"
}

// fourDigits prints four digits that count, and thousands with commas.
func fourDigits(x float64) string {
	if x < 1000 {
		return fmt.Sprintf("%.4g", x)
	}
	return number(x)
}

// series is a figure that was measured for several numbers.
var series = regexp.MustCompile(`^(.*) at (\d+)(, .*)?$`)

// Of is the workload.
func (row BulkRow) Of() string { return row.Workload }
