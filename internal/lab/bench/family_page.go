package bench

import (
	"strings"
)

// The family's part of the page: one table for all its workloads.

const familyText = `Each kind runs beside the nearest lock of another library, or beside the recipe that people
write themselves. Columns are those of the mutex. F1, F3 and F6 ran twice as long as the rest.`

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
		p.printf("## Other kinds\n\n%s\n\n", familyText)
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
	p.printf("\nworkload, contender | per second | p50 | p99 | commands | server CPU\n---|---:|---:|---:|---:|---:\n")
	for _, row := range rows {
		p.printf("%s %s | %s | %s | %s | %s\n", row.Workload, row.Who, number(row.OpsPerSecond),
			number(row.P50), number(row.P99), row.cost())
	}
	p.printf("\n")
	for _, row := range rows {
		if row.HandoverP50 > 0 {
			p.printf("%s, %s: hand-over p50 %s, p99 %s.\n\n", row.Workload, row.Who, number(row.HandoverP50), number(row.HandoverP99))
		}
		p.notes(row, row.Workload+", "+row.Who)
	}
	p.familySettings(r, rows)
}

// familySettings describes the contenders. What is the same for several stands once.
func (p *printer) familySettings(r *Report, rows []*Row) {
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
