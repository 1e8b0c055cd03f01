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
		p.printf("**These figures are of a short run (%d × %s): they show shapes, and no more.**\n\n", r.Rounds, r.Window)
	}
	if r.Note != "" {
		p.printf("**%s**\n\n", r.Note)
	}
	p.printf("%s\n\n", method)
	p.conditions(&r)
	p.verdicts(&r)
	p.printf("## Pictures\n\n")
	for _, plot := range plots {
		p.printf("![%s](benchmarks/%s)\n\n", plot.title, plot.file)
	}
	p.beside(&r)
	for _, w := range workloads {
		p.table(&r, w)
	}
	p.bulk(&r, bulkWorkloads)
	p.family(&r)
	p.settings(&r)
	return b.Bytes(), p.err
}

// method is the paragraph that says how far to trust the figures.
const method = `Read these as shapes, not as promises. One machine, one server, loopback, and
the server shares the processors with all callers: where a network would add its
round trip to everybody, here the cost of each library's own code shows most.
Each workload was measured in one run: by all libraries one after the other, in
processes of their own, round after round, each round in another order. Figures
are medians of the rounds, but the longest wait is the longest of all, and
overlaps are added up; ratios are medians of the ratios within each round, with
the least and the most of them behind.

Callers lock, work, release and ask again at once, as hard as they can, which is
where queues and polling differ most and which few programs do. Libraries that
poll were given the delay that did best on such a machine, shorter than their
defaults. A poller that releases and asks again at once mostly gets the lock
again, since the others sleep: that makes many locks per second, and long waits.
holdfast gives the name to the callers of one process in turn without asking
Redis, which is what its figures for one process show, and it keeps order
between processes: look at fairness and the longest wait beside its figures. A
p99 is over the waits that ended with a lock; who starves is seen in the longest
wait (which includes waits that the end of the cell cut) and in the fairness.
holdfast also does work that most others here do not: tokens, and a deadline
watched on the holder's side.`

func (p *printer) conditions(r *Report) {
	p.printf("- machine: %s\n- server: %s\n- date: %s\n", r.Machine, r.Versions["server"], r.Date)
	p.printf("- command: `%s`, each cell %d × %s or more, as its table says, B4 to B6 twice as long\n", r.Command, r.Rounds, r.Window)
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
	p.printf("- measured by themselves: %s, on %s, of holdfast %s, by `%s`, each cell %d × %s or more",
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
		p.printf(". **A short run: its figures show shapes, and no more.**")
	}
	if part.Note != "" {
		p.printf(". **%s**", part.Note)
	}
	p.printf("\n")
}

func (p *printer) verdicts(r *Report) {
	p.printf("## What was wanted and what was found\n\n")
	p.printf("Where a best peer or a limit is named, the figure is the ratio to it. The last column is the same figure of each limit\nthat does less than is promised, and nothing besides; who does least stands first. Where none of them is within the\nbound either, though one is better than holdfast, it says so: such a bound was not reached there by doing less.\n\n")
	p.printf("| | | figure | wanted | found | beside | | what does less |\n|---|---|---|---:|---:|---|---|---|\n")
	for _, v := range r.verdicts() {
		word := v.word()
		if v.known && !v.met {
			word = "**" + word + "**"
		}
		p.printf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", v.workload, v.who, v.says, v.want(), v.shown(), v.beside, word, v.reached())
	}
	p.printf("\n")
}

func (p *printer) beside(r *Report) {
	p.printf("## holdfast beside the best of the others\n\nIn B1 and B1c of those on the same client library.\n\n")
	p.printf("| workload | | locks per second | the best | p99 wait | the best |\n|---|---|---:|---|---:|---|\n")
	for _, q := range r.ratios() {
		if slices.ContainsFunc(family, func(w workload) bool { return w.name == q.workload }) {
			continue // in a table of their own
		}
		p.printf("| %s | %s | × %s | %s | × %s | %s |\n", q.workload, q.who, q.ops.text(), q.ops.beside, q.p99.text(), q.p99.beside)
	}
	p.printf(`
Fairness is Jain's index over the locks that each caller got: 1 is all the same,
1/n is one caller with everything. Commands are those that clients sent for each
lock taken and given back; in scripts are those that scripts called besides. CPU
is what an acquisition cost all client processes, and the server. Overlaps are
critical sections that two callers were in at once, found by memory that all
processes share. Hand-over is from the call of a release to the return of the
lock of a caller that waited in another process, on the clock of the machine.

`)
}

func (p *printer) table(r *Report, w workload) {
	if len(r.of(w.name)) == 0 {
		return
	}
	rounds := 0
	for _, row := range r.of(w.name) {
		rounds = max(rounds, len(row.Each))
	}
	p.printf("## %s: %s\n\nRounds: %d.\n\n", w.name, w.says, rounds)
	p.printf("| | per second | spread | p50 | p99 | longest | fairness | commands | in scripts | CPU | server CPU | overlaps |")
	rule := "\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
	if w.handover {
		p.printf(" hand-over p50, p99 |")
		rule += "---:|"
	}
	p.printf("%s\n", rule)
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Workload == w.name {
			p.row(row, w)
		}
	}
	p.printf("\n")
	for _, row := range r.Rows {
		if row.Workload == w.name && len(row.Extra) > 0 {
			p.printf("%s:", row.Who)
			for _, name := range slices.Sorted(maps.Keys(row.Extra)) {
				p.printf(" %s %s;", name, number(row.Extra[name]))
			}
			p.printf("\n\n")
		}
		if row.Workload == w.name && row.Failed > 0 {
			p.printf("%s: %d calls failed, the first with: %s\n\n", row.Who, row.Failed, row.Failure)
		}
	}
}

func (p *printer) row(row *Row, w workload) {
	overlaps := "–"
	if w.shared {
		overlaps = row.overlaps()
	}
	s := spreadOf(row, opsFigure)
	commands := fmt.Sprintf("%.2f | %.2f", row.Commands, row.InScripts)
	if c, _ := contenderNamed(row.Who); c.isPeer() && row.Commands == 0 { // it asks another server
		commands = "– | –"
	}
	p.printf("| %s | %s | %s–%s | %s | %s | %s | %.2f | %s | %s | %s | %s |", row.Who, number(row.OpsPerSecond),
		number(s.least), number(s.most), micros(row.P50), micros(row.P99), micros(row.Max), row.Jain, commands,
		micros(row.ClientCPU), micros(row.ServerCPU), overlaps)
	if w.handover {
		p.printf(" %s |", row.handover())
	}
	p.printf("\n")
}

func (p *printer) bulk(r *Report, workloads []bulkWorkload) {
	for _, w := range workloads {
		var rows []BulkRow
		for _, row := range r.Bulk {
			if row.Workload == w.name {
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		p.printf("## %s: %s\n\n| | figure | found | wanted | |\n|---|---|---:|---:|---|\n", w.name, w.what)
		for _, row := range rows {
			for _, f := range row.Figures {
				word := ""
				if f.Limit != "" {
					word = map[bool]string{true: "met", false: "**not met**"}[f.Met]
				}
				p.printf("| %s | %s | %.4g %s | %s | %s |\n", row.Who, f.Name, f.Value, f.Unit, f.Limit, word)
			}
		}
		p.printf("\n")
	}
}

func (p *printer) settings(r *Report) {
	p.printf("## Who is who\n\n")
	for _, c := range slices.Concat(contenders(), limits) {
		if text := r.Settings[c.who]; text != "" {
			p.printf("- %s: %s\n", c.who, text)
		}
	}
}
