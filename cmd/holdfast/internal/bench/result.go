package bench

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// measure is what came of one measurement.
type measure struct {
	name    string
	sorted  []time.Duration
	average time.Duration
}

func newMeasure(name string, samples []time.Duration) measure {
	m := measure{name: name, sorted: slices.Sorted(slices.Values(samples))}
	var sum time.Duration
	for _, s := range samples {
		sum += s
	}
	if len(samples) > 0 {
		m.average = sum / time.Duration(len(samples))
	}
	return m
}

// percentile is the sample that p percent of all are not above.
func (m measure) percentile(p int) time.Duration {
	n := len(m.sorted)
	return m.sorted[max(0, (n*p+99)/100-1)]
}

// enough for a 99th percentile that is more than the largest sample.
func (m measure) enough() bool { return len(m.sorted) >= 100 }

// resultJSON is what -o json prints. Its names are promised.
type resultJSON struct {
	Server     string        `json:"server"`
	Version    string        `json:"version"`
	DurationMS int64         `json:"duration_ms"`
	Measures   []measureJSON `json:"measures"`
}

type measureJSON struct {
	Name    string   `json:"name"`
	Samples int      `json:"samples"`
	MinUS   float64  `json:"min_us"`
	P50US   float64  `json:"p50_us"`
	P90US   float64  `json:"p90_us"`
	P99US   *float64 `json:"p99_us"`
	MaxUS   float64  `json:"max_us"`
	MeanUS  float64  `json:"mean_us"`
}

func (b *benchmark) json(server string) resultJSON {
	out := resultJSON{Server: server, Version: cli.ThisBuild().Version, DurationMS: b.each.Milliseconds()}
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	for _, m := range b.measures {
		line := measureJSON{
			Name: m.name, Samples: len(m.sorted), MinUS: us(m.percentile(0)), P50US: us(m.percentile(50)),
			P90US: us(m.percentile(90)), MaxUS: us(m.percentile(100)), MeanUS: us(m.average),
		}
		if m.enough() {
			line.P99US = new(us(m.percentile(99)))
		}
		out.Measures = append(out.Measures, line)
	}
	return out
}

func (b *benchmark) print(s console.Screen) {
	rows := [][]string{{"", "SAMPLES", "MIN", "P50", "P90", "P99", "MAX"}}
	for _, m := range b.measures {
		p99 := "-"
		if m.enough() {
			p99 = tiny(m.percentile(99))
		}
		rows = append(rows, []string{
			m.name, fmt.Sprint(len(m.sorted)), tiny(m.percentile(0)), tiny(m.percentile(50)),
			tiny(m.percentile(90)), p99, tiny(m.percentile(100)),
		})
	}
	console.PrintTable(s, rows)
}

// tiny is a duration with three digits that count.
func tiny(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// randomText is for a name that no other process uses.
func randomText() string { return strings.ToLower(rand.Text()[:12]) }
