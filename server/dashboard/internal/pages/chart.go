package pages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
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

const chartSpan = 5 * time.Minute

// line is the values of one line of a chart; nil: not known.
type line struct {
	name  string
	value func(seen.Point) *float64
}

// newChart draws the points of the last minutes, one for each second.
func newChart(title, unit string, points []seen.Point, now time.Time, lines ...line) chart {
	c := chart{Title: title, Unit: unit, Text: "No values yet."}
	first, most := float64(now.Add(-chartSpan).Unix()), 1.0
	var said []string
	columns := make([][]*float64, 1+len(lines)) // the first has the seconds
	columns[0] = []*float64{}
	for _, q := range points {
		second := float64(q.Second)
		if second < first || q.Second > now.Unix() {
			continue
		}
		columns[0] = append(columns[0], &second)
		for i, l := range lines {
			v := l.value(q)
			if v != nil {
				most = max(most, *v)
			}
			columns[i+1] = append(columns[i+1], v)
		}
	}
	for i, l := range lines {
		c.Names = append(c.Names, l.name)
		c.Paths = append(c.Paths, polyline(columns[0], columns[i+1], first, most))
		for _, v := range slices.Backward(columns[i+1]) {
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
func polyline(seconds, values []*float64, first, most float64) string {
	var b strings.Builder
	last := -1.0
	for i, v := range values {
		if v == nil {
			continue
		}
		command := 'L'
		if last < 0 || *seconds[i]-last > 3 {
			command = 'M'
		}
		last = *seconds[i]
		fmt.Fprintf(&b, "%c%.2f %.2f", command, 100*(last-first)/chartSpan.Seconds(), 29-27*(*v)/most)
	}
	return b.String()
}
