package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Page makes the Markdown page of a report in JSON.
func Page(report []byte) ([]byte, error) {
	var r Report
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	p := &printer{w: &b}
	p.printf("<!-- made by go run ./internal/lab/bench/cmd -report; edit that -->\n# Benchmarks\n\n")
	if r.Short {
		p.printf("**A short run (%d × %s): its figures are rough.**\n\n", r.Rounds, r.Window)
	}
	if r.Note != "" {
		p.printf("**%s**\n\n", r.Note)
	}
	p.printf("%s\n\n", method)
	p.conditions(&r)
	p.beside(&r)
	p.verdicts(&r)
	p.printf("## Pictures\n\n")
	for _, plot := range plots {
		p.printf("![%s](benchmarks/%s)\n\n", plot.title, plot.file)
	}
	p.printf("## Mutex\n\n%s\n\n", mutexText)
	for _, w := range workloads {
		p.table(&r, w)
	}
	p.bulk(&r, bulkWorkloads)
	p.family(&r)
	p.settings(&r)
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
  many locks per second, and long waits. Compare fairness and the longest wait, too.
- holdfast gives the name to local waiters in turn without asking Redis, and keeps order
  between processes. It also makes fencing tokens and watches the holder's deadline;
  most others do not.
- [latest.json](benchmarks/latest.json) has every round and more figures: processor time
  of the clients, commands in scripts, limits that only send PING.`

// mutexText explains the columns.
const mutexText = `Times are in µs. p50 and p99 are waits that ended with a lock. The longest wait includes
waits that the end of a run cut. Fairness is Jain's index over the locks of each caller:
1 is equal shares, 1/n is one caller with all. Commands are those that clients sent for
each lock and its release. Server CPU is that of Redis. Hand-over is the time
from the call of a release to the grant in another process. Processes share memory, which
shows when two callers held at once; this is 0 unless a line below a table says otherwise.`

func (p *printer) conditions(r *Report) {
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

// part says how workloads were measured that were not measured with the others,
// and what was different then.
func (p *printer) part(r *Report, part Part) {
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

func (p *printer) verdicts(r *Report) {
	p.printf("## Goals\n\n")
	p.printf("A limit does less than holdfast promises, see [Contenders](#contenders). *Nor by any limit*: no limit reaches the goal\neither, though one is faster than holdfast.\n\n")
	p.printf("workload | figure | goal | found | result\n---|---|---:|---:|---\n")
	for _, v := range r.verdicts() {
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
func (p *printer) beside(r *Report) {
	p.printf("## holdfast compared with the best other library\n\n")
	p.printf("Each figure is that of holdfast divided by that of the other; B1 and B1c compare within one client library.\n**Bold: the other library is better.** Libraries that let too many hold at once are left out.\n\n")
	p.printf("workload, contender | locks per second | p99 wait\n---|---|---\n")
	for _, q := range r.ratios() {
		p.printf("%s %s | %s | %s\n", q.workload, q.who, q.ops.compared(q.ops.mid < 1), q.p99.compared(q.p99.mid > 1))
	}
	p.printf("\n")
}

// compared is a ratio and what it is compared with.
func (f found) compared(worse bool) string {
	if worse {
		return fmt.Sprintf("**%s** %s", number(f.mid), f.beside)
	}
	return number(f.mid) + " " + f.beside
}

// hidden reports whether the page leaves out a row: a limit that only sends PING, unless
// a goal is measured by it. latest.json and the pictures have it.
func hidden(who string) bool {
	return strings.HasPrefix(who, "limit-ping-") && who != pingBeside || who == redisBenchmarkLimit.who
}

func (p *printer) table(r *Report, w workload) {
	if len(r.of(w.name)) == 0 {
		return
	}
	rounds := 0
	for _, row := range r.of(w.name) {
		rounds = max(rounds, len(row.Each))
	}
	p.printf("### %s: %s\n\n%d rounds.\n\n", w.name, w.says, rounds)
	p.printf("contender | per second | p50 | p99 | commands | server CPU")
	rule := "\n---|---:|---:|---:|---:|---:"
	if w.shared {
		p.printf(" | longest | fairness")
		rule += "|---:|---:"
	}
	if w.handover {
		p.printf(" | hand-over p50, p99")
		rule += "|---:"
	}
	p.printf("%s\n", rule)
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Workload == w.name && !hidden(row.Who) {
			p.row(row, w)
		}
	}
	p.printf("\n")
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Workload == w.name {
			p.notes(row, row.Who)
		}
	}
}

func (p *printer) row(row *Row, w workload) {
	p.printf("%s | %s | %s | %s | %s", row.Who, number(row.OpsPerSecond), number(row.P50), number(row.P99), row.cost())
	if w.shared {
		p.printf(" | %s | %.2f", number(row.Max), row.Jain)
	}
	if w.handover && row.HandoverP50 > 0 {
		p.printf(" | %s, %s", number(row.HandoverP50), number(row.HandoverP99))
	}
	p.printf("\n")
}

// cost is what it costs Redis, two columns. What asks another server has none.
func (row *Row) cost() string {
	if c, _ := contenderNamed(row.Who); (c.isPeer() || row.Who == etcdContender.who) && row.Commands == 0 {
		return "– | –"
	}
	return fmt.Sprintf("%.2f | %s", row.Commands, number(row.ServerCPU))
}

// notes is what has no column.
func (p *printer) notes(row *Row, who string) {
	if row.Overlaps > 0 {
		p.printf("**%s: too many callers held at once, %d times.**\n\n", who, row.Overlaps)
	}
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(row.Extra)) {
		extra = append(extra, name+" "+number(row.Extra[name]))
	}
	if len(extra) > 0 {
		p.printf("%s: %s.\n\n", who, strings.Join(extra, ", "))
	}
	if row.Failed > 0 {
		p.printf("%s: %d calls failed, the first with: %s\n\n", who, row.Failed, row.Failure)
	}
}
