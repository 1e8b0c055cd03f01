package report

import (
	"fmt"
	"image/color"
	"slices"

	"github.com/holdfast-go/holdfast/test/bench/draw"
	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/workload"
)

// picture is one plot of the page: a panel for each of some workloads.
type picture struct {
	file, title string
	scale       draw.Scale
	workloads   []string
	limits      bool // show the rows of limits too
	bars        func(row *Row) draw.Bar
}

var plots = []picture{
	{
		file: "throughput.svg", title: "Acquisitions per second", scale: draw.Logarithmic, limits: true,
		workloads: []string{"B1", "B2", "B3", "B4", "B5", "B6", "B7"},
		bars: func(row *Row) draw.Bar {
			s := spreadOf(row, opsFigure)
			return draw.Bar{Values: []float64{s.mid}, Says: number(s.mid), Least: s.least, Most: s.most}
		},
	},
	{
		file: "waits.svg", title: "Waits in µs: p50 (dark), p99, longest (pale); the end of a run cuts the waits of starved callers", scale: draw.Logarithmic, limits: true,
		workloads: []string{"B1", "B2", "B3", "B4", "B5", "B6"},
		bars: func(row *Row) draw.Bar {
			return draw.Bar{
				Values: []float64{row.Max, row.P99, row.P50},
				Says:   micros(row.P50) + " · " + micros(row.P99) + " · " + micros(row.Max),
			}
		},
	},
	{
		file: "commands.svg", title: "Commands sent per acquisition", scale: draw.Linear,
		workloads: []string{"B1", "B3", "B4", "B5", "B6", "B7"},
		bars: func(row *Row) draw.Bar {
			return draw.Bar{Values: []float64{row.Commands}, Says: fmt.Sprintf("%.2f", row.Commands)}
		},
	},
	{
		file: "fairness.svg", title: "Fairness between callers: Jain's index, 1 is equal shares", scale: draw.Unit,
		workloads: []string{"B3", "B4", "B5", "B6"},
		bars: func(row *Row) draw.Bar {
			return draw.Bar{Values: []float64{row.Jain}, Says: fmt.Sprintf("%.3f", row.Jain)}
		},
	},
}

// Plots draws the pictures of a report, as SVG by file name.
func Plots(r *Report) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, p := range plots {
		svg, err := draw.SVG(p.title, fmt.Sprintf("%s; %s; Go %s; %s; each cell %d × %s",
			r.Machine, r.Versions["server"], r.Versions["go"], r.Date, r.Rounds, r.Window), p.panels(r))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
		all[p.file] = svg
	}
	return all, nil
}

// panels are a picture's, one for each workload that there are rows of.
func (p picture) panels(r *Report) []draw.Panel {
	var all []draw.Panel
	for _, name := range p.workloads {
		w, _ := workload.Named(name)
		one := draw.Panel{Title: w.Name + ": " + w.Says, Scale: p.scale}
		for i := range r.Rows {
			row := &r.Rows[i]
			if row.Workload != name || !p.shows(row) {
				continue
			}
			b := p.bars(row)
			if slices.Max(b.Values) <= 0 && p.scale == draw.Logarithmic {
				continue
			}
			c, _ := workload.ContenderNamed(row.Who)
			b.Label, b.Bold, b.Color = row.Who, c.IsOurs(), colorOf(row)
			if row.Overlaps > 0 {
				b.Says += " WRONG"
			}
			one.Bars = append(one.Bars, b)
		}
		if len(one.Bars) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// shows leaves out limits where they say nothing (the loop waits for nobody),
// and etcd where its commands are not counted.
func (p picture) shows(row *Row) bool {
	c, _ := workload.ContenderNamed(row.Who)
	switch {
	case c.IsLimit() && (!p.limits || p.file == "waits.svg" && c.Who == limit.LoopLimit.Who):
		return false
	case p.file == "commands.svg":
		return len(c.Sends) > 0
	}
	return true
}

// Colors: ours stand out, peers are plain, limits pale, wrong locks red.
func colorOf(row *Row) color.RGBA {
	c, _ := workload.ContenderNamed(row.Who)
	switch {
	case row.Overlaps > 0:
		return color.RGBA{0xc6, 0x28, 0x28, 0xff}
	case c.IsOurs() && row.Who != workload.Ours[0].Who:
		return color.RGBA{0x5b, 0x9b, 0xd5, 0xff}
	case c.IsOurs():
		return color.RGBA{0x1f, 0x5f, 0xa8, 0xff}
	case c.IsPeer():
		return color.RGBA{0x80, 0x86, 0x8f, 0xff}
	}
	return color.RGBA{0xd3, 0xc4, 0x9c, 0xff}
}
