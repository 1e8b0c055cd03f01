package dashboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// chart is lines over time: drawn here as SVG, and anew with more by charts.js.
type chart struct {
	Title  string
	Unit   string // "" or "ms"
	Names  []string
	Paths  []string // for each line what an SVG path needs, in a field of 100 by 30
	Series string   // JSON: [seconds, values of the first, ...]; null where there is no value
	Text   string   // what it says, in words
	Empty  bool
}

const chartSpan = 5 * time.Minute

// line is the values of one line of a chart.
type line struct {
	name  string
	value func(point) (v float64, known bool)
}

// newChart draws the points of the last minutes, one for each second.
func newChart(title, unit string, points []point, now time.Time, lines ...line) chart {
	c := chart{Title: title, Unit: unit, Empty: true}
	first := now.Add(-chartSpan).Unix()
	var most float64
	for _, q := range points {
		for _, l := range lines {
			if v, known := l.value(q); known && q.second >= first {
				most = max(most, v)
			}
		}
	}
	var said []string
	seconds := []int64{}
	columns := make([][]*float64, len(lines))
	for _, q := range points {
		if q.second < first || q.second > now.Unix() {
			continue
		}
		seconds = append(seconds, q.second)
		for i, l := range lines {
			v, known := l.value(q)
			if !known {
				columns[i] = append(columns[i], nil)
				continue
			}
			c.Empty = false
			columns[i] = append(columns[i], &v)
		}
	}
	series := []any{seconds}
	for i, l := range lines {
		c.Names = append(c.Names, l.name)
		c.Paths = append(c.Paths, polyline(seconds, columns[i], first, max(most, 1)))
		series = append(series, columns[i])
		for _, v := range slices.Backward(columns[i]) {
			if v != nil {
				said = append(said, l.name+" "+valueText(*v, unit))
				break
			}
		}
	}
	text, _ := json.Marshal(series) // numbers and nils
	c.Series = string(text)
	c.Text = "No values yet."
	if len(said) > 0 {
		c.Text = "Newest: " + strings.Join(said, ", ") + "."
	}
	return c
}

func valueText(v float64, unit string) string {
	if unit == "ms" {
		return length(time.Duration(v) * time.Millisecond)
	}
	return fmt.Sprintf("%.4g", v)
}

// polyline draws a column of values, with gaps where there are none.
func polyline(seconds []int64, values []*float64, first int64, most float64) string {
	var b strings.Builder
	last := int64(-1)
	for i, v := range values {
		if v == nil {
			continue
		}
		command := 'L'
		if last < 0 || seconds[i]-last > 3 {
			command = 'M'
		}
		last = seconds[i]
		fmt.Fprintf(&b, "%c%.2f %.2f", command, 100*float64(seconds[i]-first)/chartSpan.Seconds(), 29-27*(*v)/most)
	}
	return b.String()
}

// ttlBar is how much of a tenure's time is left; times.js lets it run down.
type ttlBar struct {
	Left    time.Duration // negative: no expiry
	TTL     time.Duration // 0: not known
	Percent int
	Class   string // ok, low or out
}

func newBar(h *holdfast.Holder, seen time.Time) *ttlBar {
	left, ttl := h.Remaining, life(h)
	b := &ttlBar{Left: left, TTL: ttl}
	if left < 0 {
		return b
	}
	b.Left = max(0, left-time.Since(seen))
	if ttl > 0 {
		b.Percent = int(min(100, 100*b.Left/ttl))
	}
	switch {
	case b.Percent >= 50:
		b.Class = "ok"
	case b.Percent >= 17:
		b.Class = "low"
	default:
		b.Class = "out"
	}
	return b
}
