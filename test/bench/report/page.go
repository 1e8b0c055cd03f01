package report

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/workload"
)

// page writes the Markdown page; its tables stand in tables.go.
type page struct{ printer }

// Page makes the Markdown page of a report.
func Page(r *Report) ([]byte, error) {
	var b bytes.Buffer
	p := &page{printer{w: &b}}
	p.printf("<!-- made by go run ./test/bench/cmd -report; edit that -->\n# Benchmarks\n\n")
	if r.Short {
		p.printf("**A short run (%d × %s): its figures are rough.**\n\n", r.Rounds, r.Window)
	}
	if r.Note != "" {
		p.printf("**%s**\n\n", r.Note)
	}
	p.printf("%s\n\n", method)
	p.conditions(r)
	p.beside(r)
	p.verdicts(r)
	p.printf("## Pictures\n\n")
	for _, plot := range plots {
		p.printf("![%s](benchmarks/%s)\n\n", plot.title, plot.file)
	}
	p.mutex(r)
	p.bulk(r, workload.BulkWorkloads)
	p.family(r)
	p.settings(r)
	return b.Bytes(), p.err
}

// method is the paragraph that says how far to trust the figures.
const method = `Figures are medians of rounds; the longest wait is the longest of all rounds. Each
library runs in its own processes, one after the other, in another order each round.

- One machine runs callers and Redis, without a network. A network adds its round trip
  to every library, so the differences become smaller.
- Callers lock, work and release in a loop. Few programs do. Here queues and polling
  differ most.
- A library that polls has the delay that did best here, shorter than its default. After
  a release its caller mostly gets the lock again, because the others sleep. That makes
  many locks per second, and long waits. Compare the waits and the fairness, too.
- holdfast gives the name to local waiters in turn without asking Redis. It keeps order
  between processes, makes fencing tokens and watches the deadline; most others do not.
- [latest.json](benchmarks/latest.json) has every round, all limits and more columns.`

func (p *page) conditions(r *Report) {
	p.printf("- machine: %s\n- server: %s\n- date: %s\n", r.Machine, r.Versions["server"], r.Date)
	p.printf("- command: `%s`: each measurement at least %d × %s, B4 to B6 twice as long\n", r.Command, r.Rounds, r.Window)
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		if name != "server" {
			versions = append(versions, name+" "+r.Versions[name])
		}
	}
	p.printf("- versions: %s\n", strings.Join(versions, ", "))
	for _, part := range r.Parts {
		p.part(r, part)
	}
	p.printf("\n")
}

// Part says how workloads were measured that were not measured with the others,
// and what was different then.
func (p *page) part(r *Report, part Part) {
	p.printf("- measured later: %s, on %s, of holdfast %s, by `%s`, at least %d × %s",
		strings.Join(part.Workloads, ", "), part.Date, part.Versions["holdfast-go/holdfast"], part.Command, part.Rounds, part.Window)
	if part.Machine != r.Machine {
		p.printf(", on %s", part.Machine)
	}
	for _, name := range slices.Sorted(maps.Keys(part.Versions)) {
		if name != "holdfast-go/holdfast" && part.Versions[name] != r.Versions[name] {
			p.printf(", %s %s", name, part.Versions[name])
		}
	}
	if part.Short {
		p.printf(". **A short run: its figures are rough.**")
	}
	if part.Note != "" {
		p.printf(". **%s**", part.Note)
	}
	p.printf("\n")
}

func (p *page) verdicts(r *Report) {
	p.printf("## Goals\n\n")
	p.printf("A limit does less than holdfast promises, see [Contenders](#contenders). *Nor by any limit*: no\nlimit reaches the goal.\n\n")
	p.printf("workload | figure | goal | found | result\n---|---|---:|---:|---\n")
	for _, v := range verdicts(r) {
		word := v.word()
		if v.known && !v.met {
			word = "**" + word + "**"
		}
		p.printf("%s | %s | %s | %s | %s\n", v.workload, v.says, v.want(), v.shown(), word)
	}
	p.printf("\n")
}

// beside compares holdfast with the best of the others, and makes bold what another
// library does better.
func (p *page) beside(r *Report) {
	p.printf("## holdfast compared with the best other library\n\n")
	p.printf("Each figure is holdfast's divided by the other's; B1 and B1c compare within one client library.\n*Both*: first holdfast, then holdfast-goredis. **Bold: the other library is better.**\nLibraries that let too many hold at once are left out.\n\n")
	p.printf("workload | locks per second | p99 wait\n---|---|---\n")
	ratios := slices.DeleteFunc(ratios(r), func(q beside) bool {
		return slices.ContainsFunc(workload.Family, func(w contend.Workload) bool { return w.Name == q.workload })
	})
	for i := 0; i < len(ratios); i++ {
		q, who := ratios[i], ratios[i].who
		ops, p99 := q.ops.compared(q.ops.mid < 1), q.p99.compared(q.p99.mid > 1)
		if i+1 < len(ratios) && ratios[i+1].sameOthers(q) {
			i++
			both := ratios[i]
			who, ops, p99 = "both", ops+", "+both.ops.compared(both.ops.mid < 1), p99+", "+both.p99.compared(both.p99.mid > 1)
		}
		p.printf("%s %s | %s %s | %s %s\n", q.workload, who, ops, q.ops.beside, p99, q.p99.beside)
	}
	p.printf("\n")
}

// notes is what has no column.
func (p *page) notes(row *Row) {
	who := row.Workload + ", " + row.Who
	if row.Overlaps > 0 {
		p.printf("**%s: too many callers held at once, %d times.**\n\n", who, row.Overlaps)
	}
	if row.Failed > 0 {
		p.printf("%s: %d calls failed, the first with: %s\n\n", who, row.Failed, row.Failure)
	}
}
