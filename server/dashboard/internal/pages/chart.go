package pages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// chart is lines over time. It is drawn here as SVG; charts.js replaces that by a chart with more.
type chart struct {
	Title  string
	Unit   string // "" or "ms"
	Names  []string
	Paths  []string // for each line what an SVG path needs, in a field of 100 by 30
	Series string   // JSON: [seconds, values of the first, ...]; null where there is no value
	Text   string   // what it says, in words
}

// span is the time that a chart shows, up to now, with a value for each step.
type span struct{ long, step time.Duration }

// line is the values of one line of a chart, one for each second; nil: not known.
type line struct {
	name   string
	values []*float64
}

// valuesOf makes the values of a line.
func valuesOf[T any](all []T, value func(T) *float64) []*float64 {
	values := make([]*float64, len(all))
	for i, one := range all {
		values[i] = value(one)
	}
	return values
}

// newChart draws lines over some seconds, which rise.
func newChart(title, unit string, s span, now time.Time, seconds []*float64, lines ...line) chart {
	first, most := float64(now.Add(-s.long).Unix()), 1.0
	c := chart{Title: title, Unit: unit, Text: "No values yet."}
	columns := make([][]*float64, 1+len(lines)) // the first has the seconds
	columns[0] = []*float64{}
	for i, at := range seconds {
		if *at < first || *at > float64(now.Unix()) {
			continue
		}
		columns[0] = append(columns[0], at)
		for k, l := range lines {
			v := l.values[i]
			if v != nil {
				most = max(most, *v)
			}
			columns[k+1] = append(columns[k+1], v)
		}
	}
	var said []string
	for k, l := range lines {
		c.Names = append(c.Names, l.name)
		c.Paths = append(c.Paths, polyline(columns[0], columns[k+1], s, first, most))
		for _, v := range slices.Backward(columns[k+1]) {
			if v != nil {
				said = append(said, l.name+" "+valueText(*v, unit))
				break
			}
		}
	}
	text, _ := json.Marshal(columns) // numbers and nils
	c.Series = string(text)
	if len(said) > 0 {
		c.Text = "Newest: " + strings.Join(said, ", ") + "."
	}
	return c
}

func valueText(v float64, unit string) string {
	if unit == "ms" {
		return show.Length(time.Duration(v) * time.Millisecond)
	}
	return fmt.Sprintf("%.4g", v)
}

// polyline draws a column of values, with gaps where there are none.
func polyline(seconds, values []*float64, s span, first, most float64) string {
	var b strings.Builder
	last := -1.0
	for i, v := range values {
		if v == nil {
			continue
		}
		command := 'L'
		if last < 0 || *seconds[i]-last > 3*s.step.Seconds() {
			command = 'M'
		}
		last = *seconds[i]
		fmt.Fprintf(&b, "%c%.2f %.2f", command, 100*(last-first)/s.long.Seconds(), 29-27*(*v)/most)
	}
	return b.String()
}
