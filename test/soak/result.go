//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// sample is what the processes that live all the time use together, and the server.
type sample struct {
	Seconds                            float64
	Goroutines, Heap, RSS, Descriptors float64
	Connections, Dataset, Keys         float64
}

// result is what the soak came to.
type result struct {
	Seconds        float64          `json:"seconds"`
	Processes      int              `json:"processes"`
	Clients        int              `json:"clients"`
	Names          int              `json:"names"`
	Seed           uint64           `json:"seed"`
	Faults         map[string]int   `json:"faults"`
	Total          counts           `json:"total"`
	Trends         map[string]trend `json:"trends"`
	LeftGoroutines int              `json:"left_goroutines"` // of the process that has most, all closed
	LeftKeys       []string         `json:"left_keys"`

	file    string
	began   time.Time
	samples []sample
}

// trend is how something went: the median of the second and of the last fifth of
// the time, and the slope of the straight line of least squares from the second
// fifth on, in units an hour.
type trend struct {
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
	Slope float64 `json:"slope_per_hour"`
}

// gauges are what must stay flat.
var gauges = []struct {
	name string
	of   func(sample) float64
}{
	{"heap, bytes", func(s sample) float64 { return s.Heap }},
	{"resident, bytes", func(s sample) float64 { return s.RSS }},
	{"goroutines", func(s sample) float64 { return s.Goroutines }},
	{"descriptors", func(s sample) float64 { return s.Descriptors }},
	{"connections", func(s sample) float64 { return s.Connections }},
	{"data in Redis, bytes", func(s sample) float64 { return s.Dataset }},
	{"keys in Redis", func(s sample) float64 { return s.Keys }},
}

func newResult(p plan) *result {
	return &result{Processes: p.Processes, Clients: p.Clients, Names: p.Names, Seed: p.Seed, Faults: map[string]int{}, file: p.JSON, began: time.Now()}
}

func (r *result) add(s sample) error {
	r.samples = append(r.samples, s)
	r.Seconds = time.Since(r.began).Seconds()
	r.Trends = map[string]trend{}
	settled := r.samples[len(r.samples)/5:]
	for _, g := range gauges {
		r.Trends[g.name] = trendOf(settled, g.of)
	}
	if len(r.samples)%6 != 0 { // a line a minute
		return nil
	}
	fmt.Printf("%6.0f s: asked %d, lost %d, faults %d, heap %.1f MB, resident %.1f MB, goroutines %.0f, descriptors %.0f, keys %.0f\n", r.Seconds,
		r.Total.Asked, r.Total.Lost, r.struck(), s.Heap/1e6, s.RSS/1e6, s.Goroutines, s.Descriptors, s.Keys)
	return r.write()
}

func (r *result) struck() (n int) {
	for _, times := range r.Faults {
		n += times
	}
	return n
}

func trendOf(samples []sample, of func(sample) float64) trend {
	fifth := max(1, len(samples)/4) // of the whole
	t := trend{Begin: median(samples[:fifth], of), End: median(samples[len(samples)-fifth:], of)}
	var x, y, xx, xy, n float64
	for _, s := range samples {
		hours, v := s.Seconds/3600, of(s)
		x, y, xx, xy, n = x+hours, y+v, xx+hours*hours, xy+hours*v, n+1
	}
	if d := n*xx - x*x; d > 0 {
		t.Slope = (n*xy - x*y) / d
	}
	return t
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "\n%.0f s, %d clients in %d processes, %d names: %d locks asked for, %d granted, %d lost, %d faults, %d overlaps\n",
		r.Seconds, r.Clients, r.Processes, r.Names, r.Total.Asked, r.Total.Granted, r.Total.Lost, r.struck(), r.Total.Overlaps)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tsecond fifth\tlast fifth\tslope an hour\t")
	for _, g := range gauges {
		t := r.Trends[g.name]
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%+.1f\t\n", g.name, t.Begin, t.End, t.Slope)
	}
	_ = table.Flush()
}

// growth is how much more of something there may be in the last fifth of the time
// than in the second. Heaps breathe, and each fault leaves a moment of more.
const growth = 0.1

// verdict is an error where something is not as it must be.
func (r *result) verdict() error {
	var wrong []error
	for _, g := range gauges {
		if t := r.Trends[g.name]; t.End > t.Begin*(1+growth) {
			wrong = append(wrong, fmt.Errorf("%s grew from %.0f to %.0f", g.name, t.Begin, t.End))
		}
	}
	if r.Total.Overlaps > 0 {
		wrong = append(wrong, fmt.Errorf("%d times two held a mutex at once", r.Total.Overlaps))
	}
	if r.Total.Failed > 0 {
		wrong = append(wrong, fmt.Errorf("%d calls failed with errors that no fault explains, such as %s", r.Total.Failed, r.Total.Error))
	}
	if r.LeftGoroutines > 12 {
		wrong = append(wrong, fmt.Errorf("%d goroutines are left in a process whose Clients are closed", r.LeftGoroutines))
	}
	if len(r.LeftKeys) > 0 {
		wrong = append(wrong, fmt.Errorf("keys are left: %v", r.LeftKeys))
	}
	return errors.Join(wrong...)
}

func (r *result) write() error {
	if r.file == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file, append(text, '\n'), 0o644)
}
