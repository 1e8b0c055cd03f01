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
	p.printf("%s\n\n", method)
	p.conditions(r)
	for _, w := range workloads {
		p.table(r, w)
	}
	p.printf("## holdfast beside the best of the others\n\n")
	p.printf("| workload | locks per second | the best | p99 wait | the best |\n|---|---:|---|---:|---|\n")
	for _, q := range r.ratios() {
		p.printf("| %s | × %.3g | %s | × %.3g | %s |\n", says(q.workload), q.ops, q.opsBest, q.p99, q.p99Best)
	}
	return b.Bytes(), p.err
}

// method is the paragraph that says how far to trust the figures.
const method = `Read these as shapes, not as promises. One machine, one server, loopback, and
the server shares the processors with all callers: where a network would add its
round trip to everybody, here the cost of each library's own code shows most.
Everything was measured in one run, in turn: each workload by all libraries one
after the other, in processes of their own, round after round, each round
beginning with another; figures are medians of the rounds, but the longest wait
is the longest of all, and overlaps are added up. Callers lock, work, release
and ask again at once, as hard as they can, which is where queues and polling
differ most and which few programs do. Libraries that poll were given the delay
that did best on such a machine, shorter than their defaults. A poller that
releases and asks again at once mostly gets the lock again, since the others
sleep: that makes many locks per second, and long waits.
holdfast gives the name to the callers of one process in turn without asking
Redis, which is what its figures for one process show, and it keeps order
between processes, which costs it locks per second that a library without order
can keep for itself: look at fairness and the longest wait beside them. A p99 is
over the waits that ended with a lock; who starves is seen in the longest wait
(which includes waits that the end of the cell cut) and in the fairness. holdfast
also does work that others here do not: tokens, and a deadline watched on the
holder's side.`

func (p *printer) conditions(r Report) {
	p.printf("- machine: %s\n- server: %s\n- date: %s\n", r.Machine, r.Versions["server"], r.Date)
	p.printf("- command: `%s -o json`, each cell %d × %s\n", r.Command, r.Rounds, r.Window)
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		if name != "server" {
			versions = append(versions, name+" "+r.Versions[name])
		}
	}
	p.printf("- versions: %s\n", strings.Join(versions, ", "))
	for _, who := range slices.Sorted(maps.Keys(r.Settings)) {
		p.printf("- %s: %s\n", who, r.Settings[who])
	}
	p.printf(`
Fairness is Jain's index over the locks that each caller got: 1 is all the same,
1/n is one caller with everything. Commands are those that clients sent for each
lock taken and given back; in scripts are those that scripts called besides.
Overlaps are critical sections that two callers were in at once, found by memory
that all processes share.

`)
}

func (p *printer) table(r Report, w workload) {
	rows := r.of(w.name)
	if len(rows) == 0 {
		return
	}
	p.printf("## %s\n\n", strings.ToUpper(w.says[:1])+w.says[1:])
	p.printf("| | per second | p50 | p99 | longest | fairness | commands | in scripts | overlaps |\n")
	p.printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range r.Rows {
		if row.Workload != w.name {
			continue
		}
		overlaps := "–"
		if w.shared {
			overlaps = fmt.Sprint(row.Overlaps)
		}
		p.printf("| %s | %.0f | %s | %s | %s | %.2f | %.2f | %.2f | %s |\n", row.Who, row.OpsPerSecond,
			micros(row.P50), micros(row.P99), micros(row.Max), row.Jain, row.Commands, row.InScripts, overlaps)
	}
	p.printf("\n")
	for _, row := range r.Rows {
		if row.Workload == w.name && row.Failed > 0 {
			p.printf("%s: %d calls failed, the first with: %s\n\n", row.Who, row.Failed, row.Failure)
		}
	}
}

// says is a workload for people.
func says(name string) string {
	for _, w := range workloads {
		if w.name == name {
			return w.says
		}
	}
	return name
}
