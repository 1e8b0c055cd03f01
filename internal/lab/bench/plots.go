package bench

import (
	"encoding/json"
	"fmt"
	"image/color"
	"slices"
)

// picture is one plot of the page: a panel for each of some workloads.
type picture struct {
	file, title string
	scale       scale
	workloads   []string
	limits      bool // show the rows of limits too
	bars        func(row *Row) bar
}

var plots = []picture{
	{
		file: "throughput.svg", title: "Acquisitions per second", scale: logarithmic, limits: true,
		workloads: []string{"B1", "B2", "B3", "B4", "B5", "B6", "B7"},
		bars: func(row *Row) bar {
			s := spreadOf(row, opsFigure)
			return bar{values: []float64{s.mid}, says: number(s.mid), least: s.least, most: s.most}
		},
	},
	{
		file: "waits.svg", title: "Waits in µs: p50 (dark), p99, longest (pale); the end of a run cuts the waits of starved callers", scale: logarithmic, limits: true,
		workloads: []string{"B1", "B2", "B3", "B4", "B5", "B6"},
		bars: func(row *Row) bar {
			return bar{
				values: []float64{row.Max, row.P99, row.P50},
				says:   micros(row.P50) + " · " + micros(row.P99) + " · " + micros(row.Max),
			}
		},
	},
	{
		file: "commands.svg", title: "Commands sent per acquisition", scale: linear,
		workloads: []string{"B1", "B3", "B4", "B5", "B6", "B7"},
		bars: func(row *Row) bar {
			return bar{values: []float64{row.Commands}, says: fmt.Sprintf("%.2f", row.Commands)}
		},
	},
	{
		file: "fairness.svg", title: "Fairness between callers: Jain's index, 1 is equal shares", scale: unit,
		workloads: []string{"B3", "B4", "B5", "B6"},
		bars: func(row *Row) bar {
			return bar{values: []float64{row.Jain}, says: fmt.Sprintf("%.3f", row.Jain)}
		},
	},
}

// Plots draws the pictures of a report in JSON, as SVG by file name.
func Plots(report []byte) (map[string][]byte, error) {
	var r Report
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, p := range plots {
		svg, err := drawSVG(p.title, fmt.Sprintf("%s; %s; Go %s; %s; each cell %d × %s",
			r.Machine, r.Versions["server"], r.Versions["go"], r.Date, r.Rounds, r.Window), p.panels(&r))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
		all[p.file] = svg
	}
	return all, nil
}

// panels are a picture's, one for each workload that there are rows of.
func (p picture) panels(r *Report) []panel {
	var all []panel
	for _, name := range p.workloads {
		w, _ := workloadNamed(name)
		one := panel{title: w.name + ": " + w.says, scale: p.scale}
		for i := range r.Rows {
			row := &r.Rows[i]
			if row.Workload != name || !p.shows(row) {
				continue
			}
			b := p.bars(row)
			if slices.Max(b.values) <= 0 && p.scale == logarithmic {
				continue
			}
			c, _ := contenderNamed(row.Who)
			b.label, b.bold, b.color = row.Who, c.isOurs(), colorOf(row)
			if row.Overlaps > 0 {
				b.says += " WRONG"
			}
			one.bars = append(one.bars, b)
		}
		if len(one.bars) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// shows leaves out limits where they say nothing (the loop waits for nobody),
// and etcd where its commands are not counted.
func (p picture) shows(row *Row) bool {
	c, _ := contenderNamed(row.Who)
	switch {
	case c.isLimit() && (!p.limits || p.file == "waits.svg" && c.who == loopLimit.who):
		return false
	case p.file == "commands.svg":
		return len(c.sends) > 0
	}
	return true
}

// Colors: ours stand out, peers are plain, limits pale, wrong locks red.
func colorOf(row *Row) color.RGBA {
	c, _ := contenderNamed(row.Who)
	switch {
	case row.Overlaps > 0:
		return color.RGBA{0xc6, 0x28, 0x28, 0xff}
	case c.isOurs() && row.Who != ours[0].who:
		return color.RGBA{0x5b, 0x9b, 0xd5, 0xff}
	case c.isOurs():
		return color.RGBA{0x1f, 0x5f, 0xa8, 0xff}
	case c.isPeer():
		return color.RGBA{0x80, 0x86, 0x8f, 0xff}
	}
	return color.RGBA{0xd3, 0xc4, 0x9c, 0xff}
}
