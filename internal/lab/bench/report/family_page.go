package report

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/lab/bench/rivals"
	"github.com/holdfast-go/holdfast/internal/lab/bench/workload"
)

// The family's part of the page: one table for all its workloads.

const familyText = `Each kind runs beside the nearest lock of another library, or beside the recipe that people
write themselves. Waits are in µs. In brackets: holdfast's figure divided by that of the best
other whose lock held, **bold if the other is better**. F1, F3 and F6 ran twice as long as the rest.`

func (p *printer) family(r *Report) {
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

func (p *printer) familyRows(r *Report, rows []*Row) {
	ratios := r.ratios()
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
