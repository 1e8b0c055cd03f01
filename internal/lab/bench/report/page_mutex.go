package report

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
	"github.com/holdfast-go/holdfast/internal/lab/bench/workload"
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
	in    func(w contend.Workload) bool
	best  figure
	less  bool
	shown func(row *Row) string
}

var grids = []grid{
	{title: "Locks per second", in: func(contend.Workload) bool { return true }, best: opsFigure, shown: func(row *Row) string { return number(row.OpsPerSecond) }},
	{title: "p99 wait, µs", in: func(contend.Workload) bool { return true }, best: p99Figure, less: true, shown: func(row *Row) string { return number(row.P99) }},
	{title: "Longest wait in ms, fairness", in: func(w contend.Workload) bool { return w.Shared && w.Callers*w.Processes > 1 }, best: maxFigure, less: true, shown: func(row *Row) string { return fmt.Sprintf("%s, %.2f", number(row.Max/1000), row.Jain) }},
	{title: "Hand-over in µs, p50 and p99", in: func(w contend.Workload) bool { return w.Handover }, best: handoverP50Figure, less: true, shown: func(row *Row) string { return number(row.HandoverP50) + ", " + number(row.HandoverP99) }},
}

func (p *printer) Mutex(r *Report) {
	p.printf("## Mutex\n\n%s\n\n", mutexText)
	var measured []contend.Workload
	for _, w := range workload.Workloads {
		if len(r.Of(w.Name)) > 0 {
			measured = append(measured, w)
			p.printf("- %s: %s\n", w.Name, w.Says)
		}
	}
	p.printf("\n")
	for _, g := range grids {
		p.grid(r, g, measured)
	}
	for i := range r.Rows {
		for _, w := range measured {
			if r.Rows[i].Workload == w.Name {
				p.notes(&r.Rows[i])
			}
		}
	}
}

func (p *printer) grid(r *Report, g grid, measured []contend.Workload) {
	var in []contend.Workload
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
		p.printf(" | %s", w.Name)
	}
	p.printf("\n---%s\n", strings.Repeat("|---:", len(in)))
	for _, c := range workload.Contenders() {
		p.printf("%s", c.Who)
		for _, w := range in {
			p.printf(" | %s", r.cell(g, w.Name, c.Who))
		}
		p.printf("\n")
	}
	p.printf("\n")
}

// cell is what one contender reached in one workload, bold if it is the best of all.
func (r *Report) cell(g grid, name, who string) string {
	row := r.row(name, who)
	if row == nil || row.OpsPerSecond == 0 {
		return "–"
	}
	for _, c := range workload.Contenders() {
		other := r.row(name, c.Who)
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
