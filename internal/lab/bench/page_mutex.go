package bench

import (
	"fmt"
	"strings"
)

// The mutex's part of the page: a table for each figure, with a row for each library and
// a column for each workload. Limits and the other figures stand in latest.json.

// mutexText explains the figures.
const mutexText = `p99 counts waits that ended with a lock; the longest wait counts also those
that the end of a run cut. Fairness is Jain's index over the locks of each caller: 1 is
equal shares, 1/n is one caller with all. Hand-over is the time from the call of a
release to the grant in another process. Memory that all processes share shows when two
callers held at once. **Bold: the best of its column.**`

// grid is one table: how a row is shown, and the figure by which it is best.
type grid struct {
	title string
	in    func(w workload) bool
	best  figure
	less  bool
	shown func(row *Row) string
}

var grids = []grid{
	{title: "Locks per second", in: func(workload) bool { return true }, best: opsFigure, shown: func(row *Row) string { return number(row.OpsPerSecond) }},
	{title: "p99 wait, µs", in: func(workload) bool { return true }, best: p99Figure, less: true, shown: func(row *Row) string { return number(row.P99) }},
	{title: "Longest wait in ms, fairness", in: func(w workload) bool { return w.shared && w.callers*w.processes > 1 }, best: maxFigure, less: true, shown: func(row *Row) string { return fmt.Sprintf("%s, %.2f", number(row.Max/1000), row.Jain) }},
	{title: "Hand-over in µs, p50 and p99", in: func(w workload) bool { return w.handover }, best: handoverP50Figure, less: true, shown: func(row *Row) string { return number(row.HandoverP50) + ", " + number(row.HandoverP99) }},
}

func (p *printer) mutex(r *Report) {
	p.printf("## Mutex\n\n%s\n\n", mutexText)
	var measured []workload
	for _, w := range workloads {
		if len(r.of(w.name)) > 0 {
			measured = append(measured, w)
			p.printf("- %s: %s\n", w.name, w.says)
		}
	}
	p.printf("\n")
	for _, g := range grids {
		p.grid(r, g, measured)
	}
	for i := range r.Rows {
		for _, w := range measured {
			if r.Rows[i].Workload == w.name {
				p.notes(&r.Rows[i])
			}
		}
	}
}

func (p *printer) grid(r *Report, g grid, measured []workload) {
	var in []workload
	for _, w := range measured {
		if g.in(w) {
			in = append(in, w)
		}
	}
	if len(in) == 0 {
		return
	}
	p.printf("%s", g.title)
	for _, w := range in {
		p.printf(" | %s", w.name)
	}
	p.printf("\n---%s\n", strings.Repeat("|---:", len(in)))
	for _, c := range contenders() {
		p.printf("%s", c.who)
		for _, w := range in {
			p.printf(" | %s", r.cell(g, w.name, c.who))
		}
		p.printf("\n")
	}
	p.printf("\n")
}

// cell is what one contender reached in one workload, bold if it is the best of all.
func (r *Report) cell(g grid, workload, who string) string {
	row := r.row(workload, who)
	if row == nil || row.OpsPerSecond == 0 {
		return "–"
	}
	for _, c := range contenders() {
		other := r.row(workload, c.who)
		if other == nil || other.OpsPerSecond == 0 || other.Overlaps > 0 {
			continue
		}
		mine, best := *g.best.of(&row.Figures), *g.best.of(&other.Figures)
		if row.Overlaps > 0 || g.less && best < mine || !g.less && best > mine {
			return g.shown(row)
		}
	}
	return "**" + g.shown(row) + "**"
}
