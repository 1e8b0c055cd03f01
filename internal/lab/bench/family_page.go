package bench

import (
	"maps"
	"slices"
)

// The family's part of the page: one table for all its workloads.

const familyText = `Semaphores, reader-writer locks, elections and the rest, each beside what is
nearest to it: another library's where there is one, else the recipe that people
write themselves. The callers are those of the mutex, and so are the columns.
Wrong is how often somebody was inside while there was no room: another leader,
more permits than there are, a writer beside others. "The best other" is locks per
second divided by the most of those of the others that were never wrong. Cells of F1,
F3 and F6 are twice as long as the rest.`

func (p *printer) family(r *Report) {
	var rows []*Row
	for _, w := range family {
		for i := range r.Rows {
			if r.Rows[i].Workload == w.name {
				rows = append(rows, &r.Rows[i])
			}
		}
	}
	if len(rows) > 0 {
		p.printf("## The family\n\n%s\n\n", familyText)
		for _, w := range family {
			if len(r.of(w.name)) > 0 {
				p.printf("- %s: %s\n", w.name, w.says)
			}
		}
		p.familyRows(r, rows)
	}
	p.bulk(r, familyBulk)
}

func (p *printer) familyRows(r *Report, rows []*Row) {
	best := map[string]string{}
	for _, q := range r.ratios() {
		best[q.workload+q.who] = "× " + q.ops.text() + " " + q.ops.beside
	}
	p.printf("\n| | | per second | spread | the best other | p50 | p99 | longest | fairness | commands | in scripts | CPU | server CPU | wrong |\n")
	p.printf("|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range rows {
		w, _ := workloadNamed(row.Workload)
		wrong := "–"
		if w.shared {
			wrong = row.overlaps()
		}
		s := spreadOf(row, opsFigure)
		p.printf("| %s | %s | %s | %s–%s | %s | %s | %s | %s | %.2f | %.2f | %.2f | %s | %s | %s |\n", row.Workload, row.Who, number(row.OpsPerSecond),
			number(s.least), number(s.most), best[row.Workload+row.Who], micros(row.P50), micros(row.P99), micros(row.Max), row.Jain,
			row.Commands, row.InScripts, micros(row.ClientCPU), micros(row.ServerCPU), wrong)
	}
	p.printf("\n")
	for _, row := range rows {
		p.familyNotes(row)
	}
	p.familySettings(r, rows)
}

// familySettings says who is who. What is the same in several workloads is said
// once.
func (p *printer) familySettings(r *Report, rows []*Row) {
	var all []string
	of := map[string]string{}
	for _, row := range rows {
		text := r.Settings[row.Workload+" "+row.Who]
		if text == "" {
			continue
		}
		text = row.Who + ": " + text
		if of[text] == "" {
			all, of[text] = append(all, text), row.Workload
		} else {
			of[text] += ", " + row.Workload
		}
	}
	for _, text := range all {
		p.printf("- in %s, %s\n", of[text], text)
	}
	p.printf("\n")
}

// familyNotes is what has no column.
func (p *printer) familyNotes(row *Row) {
	if text := row.handover(); text != "" {
		p.printf("%s, %s: hand-over p50, p99: %s\n\n", row.Workload, row.Who, text)
	}
	if len(row.Extra) > 0 {
		p.printf("%s, %s:", row.Workload, row.Who)
		for _, name := range slices.Sorted(maps.Keys(row.Extra)) {
			p.printf(" %s %s;", name, number(row.Extra[name]))
		}
		p.printf("\n\n")
	}
	if row.Failed > 0 {
		p.printf("%s, %s: %d calls failed, the first with: %s\n\n", row.Workload, row.Who, row.Failed, row.Failure)
	}
}
