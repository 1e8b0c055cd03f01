package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
	"github.com/holdfast-go/holdfast/test/bench/workload"
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

func (p *page) mutex(r *Report) {
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

func (p *page) grid(r *Report, g grid, measured []contend.Workload) {
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
			p.printf(" | %s", shownCell(r, g, w.Name, c.Who))
		}
		p.printf("\n")
	}
	p.printf("\n")
}

// cell is what one contender reached in one workload, bold if it is the best of all.
func shownCell(r *Report, g grid, name, who string) string {
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

// The family's part of the page: one table for all its workloads.

const familyText = `Each kind runs beside the nearest lock of another library, or beside the recipe that people
write themselves. Waits are in µs. In brackets: holdfast's figure divided by that of the best
other whose lock held, **bold if the other is better**. F1, F3 and F6 ran twice as long as the rest.`

func (p *page) family(r *Report) {
	var rows []*Row
	for _, w := range workload.Family {
		for i := range r.Rows {
			if r.Rows[i].Workload == w.Name && (!strings.HasPrefix(r.Rows[i].Who, "limit") || r.Rows[i].Who == rivals.EvalshaLimit.Who) {
				rows = append(rows, &r.Rows[i])
			}
		}
	}
	if len(rows) > 0 {
		p.printf("## Other kinds\n\n%s\n\n", familyText)
		for _, w := range workload.Family {
			if len(r.Of(w.Name)) > 0 {
				p.printf("- %s: %s\n", w.Name, w.Says)
			}
		}
		p.familyRows(r, rows)
	}
	p.bulk(r, workload.FamilyBulk)
}

func (p *page) familyRows(r *Report, rows []*Row) {
	ratios := ratios(r)
	p.printf("\nworkload, contender | per second | p99\n---|---:|---:\n")
	for _, row := range rows {
		ops, p99 := number(row.OpsPerSecond), number(row.P99)
		if i := slices.IndexFunc(ratios, func(q beside) bool { return q.workload == row.Workload && q.who == row.Who }); i >= 0 {
			ops += " (" + ratios[i].ops.compared(ratios[i].ops.mid < 1) + ")"
			p99 += " (" + ratios[i].p99.compared(ratios[i].p99.mid > 1) + ")"
		}
		p.printf("%s %s | %s | %s\n", row.Workload, row.Who, ops, p99)
	}
	p.printf("\n")
	for _, row := range rows {
		p.notes(row)
	}
	p.familySettings(r, rows)
}

// familySettings describes the contenders. What is the same for several stands once.
func (p *page) familySettings(r *Report, rows []*Row) {
	var texts []string
	of := map[string][]string{}
	for _, row := range rows {
		text := r.Settings[row.Workload+" "+row.Who]
		if text == "" {
			continue
		}
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], row.Workload+" "+row.Who)
	}
	for _, text := range texts {
		p.printf("- %s: %s\n", strings.Join(of[text], ", "), text)
	}
	p.printf("\n")
}

// The page's part of the workloads that are about numbers, and who is who.

// told are figures without a goal that the page shows all the same. latest.json has
// the others, too.
var told = []string{
	"time to lock all", "a renewal in Redis", "last waiter served after the release",
	"commands", "a name that is held", "more if one waits", "a waiter in a long queue", "a name that was used once",
	"heap per reader", "all of them hold after", "both leases believed at once, p99",
	"from the call to the end of the holder's context, p99", "from the call to the end of the old holder's context, p99",
	"from the call to the waiter's lock, p99",
}

func (p *page) bulk(r *Report, workloads []workload.BulkWorkload) {
	for _, w := range workloads {
		begun := false
		for _, row := range r.Bulk {
			if row.Workload != w.Name {
				continue
			}
			if !begun {
				p.printf("### %s: %s\n\n", w.Name, w.What)
				begun = true
			}
			p.bulkRow(row)
		}
	}
}

// bulkRow is a list of figures: a series in one line, and in one line what is to be, and
// is, zero.
func (p *page) bulkRow(row BulkRow) {
	p.printf("%s:\n\n", row.Who)
	var done, none []string
	for _, f := range row.Figures {
		m := series.FindStringSubmatch(f.Name)
		switch {
		case m != nil && !slices.Contains(done, m[1]+m[3]) && !strings.Contains(m[3], "processor time"):
			done = append(done, m[1]+m[3])
			p.printf("- %s%s, %s: %s\n", m[1], m[3], f.Unit, row.seriesOf(m[1], m[3]))
		case m == nil && f.Value == 0 && f.Met && strings.ReplaceAll(f.Limit, " ", "") == "≤0":
			none = append(none, f.Name)
		case m == nil && (f.Limit != "" || slices.Contains(told, f.Name)):
			p.printf("- %s: %s\n", f.Name, f.shown())
		}
	}
	if len(none) > 0 {
		p.printf("- 0 as required: %s\n", strings.Join(none, ", "))
	}
	p.printf("\n")
}

// explained are the limits that the page speaks of.
var explained = []string{"limit", "limit-rueidis", "limit-token-rueidis", "limit-lease-rueidis", "limit-queue", "limit-queue-token", limit.PingBeside}

func (p *page) settings(r *Report) {
	p.printf("## Contenders\n\n")
	for _, c := range slices.Concat(workload.Contenders(), limit.Limits) {
		if text := r.Settings[c.Who]; text != "" && (!strings.HasPrefix(c.Who, "limit") || slices.Contains(explained, c.Who)) {
			p.printf("- %s: %s\n", c.Who, text)
		}
	}
}
