package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/bench/workload"
)

// PrintText is the report for a terminal.
func PrintText(out io.Writer, r Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := &printer{w: w}
	p.printf("%s; %s, Go %s; rounds of a cell: %d × %s\n\n", r.Machine, r.Versions["server"], r.Versions["go"], r.Rounds, r.Window)
	p.printf("workload\twho\tlocks/s\tspread\tp50\tp99\tlongest\tfairness\tcommands\tin scripts\tCPU/op\tserver\thand-over\toverlaps\t\n")
	for i := range r.Rows {
		row := &r.Rows[i]
		s := spreadOf(row, opsFigure)
		p.printf("%s\t%s\t%s\t%s–%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%s\t%s\t%s\t%s\t\n", row.Workload, row.Who, number(row.OpsPerSecond),
			number(s.least), number(s.most), micros(row.P50), micros(row.P99), micros(row.Max), row.Jain, row.Commands, row.InScripts,
			micros(row.ClientCPU), micros(row.ServerCPU), row.handover(), row.overlaps())
	}
	if err := p.Flush(w); err != nil {
		return err
	}
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p = &printer{w: w}
	p.printf("\nholdfast beside the best peer, median of the rounds (least to most)\nworkload\twho\tlocks per second\tthe best\tp99 wait\tthe best\n")
	for _, q := range r.ratios() {
		p.printf("%s\t%s\t× %s\t%s\t× %s\t%s\n", q.workload, q.who, q.ops.text(), q.ops.beside, q.p99.text(), q.p99.beside)
	}
	p.printf("\nrequirement\twho\tof\twanted\tfound\tbeside\tverdict\tlimits\n")
	for _, v := range r.verdicts() {
		if !v.known {
			continue
		}
		p.printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.workload, v.who, v.says, v.want(), v.text(), v.beside, v.word(), v.reached())
	}
	for _, row := range r.Rows {
		if row.Failed > 0 {
			p.printf("%s, %s: %d calls failed, the first with: %s\n", row.Workload, row.Who, row.Failed, row.Failure)
		}
	}
	if err := p.Flush(w); err != nil {
		return err
	}
	return PrintBulk(out, r.Bulk)
}

// handover is its p50 and p99, where it was measured.
func (row *Row) handover() string {
	if row.HandoverP50 == 0 {
		return ""
	}
	return micros(row.HandoverP50) + " " + micros(row.HandoverP99)
}

// overlaps is their number, with a word where there are any.
func (row *Row) overlaps() string {
	if row.Overlaps == 0 {
		return "0"
	}
	return fmt.Sprintf("%d WRONG", row.Overlaps)
}

// beside is one of ours beside the best peer in one workload.
type beside struct {
	workload, who string
	ops, p99      found
}

// ratios compares in every workload where a peer got a lock at all.
func (r *Report) ratios() []beside {
	var all []beside
	for i := range r.Rows {
		row := &r.Rows[i]
		c, _ := workload.ContenderNamed(row.Who)
		if !c.IsOurs() {
			continue
		}
		library := ""
		if strings.HasPrefix(row.Workload, "B1") { // B1c, too
			library = c.Library
		}
		fastest, calmest := r.best(row.Workload, library, opsFigure, false), r.best(row.Workload, library, p99Figure, true)
		if fastest == nil {
			continue
		}
		all = append(all, beside{
			row.Workload, row.Who,
			found{ratio(row, opsFigure, fastest, opsFigure), fastest.Who},
			found{ratio(row, p99Figure, calmest, p99Figure), calmest.Who},
		})
	}
	return all
}

// printer keeps the first error of many writes.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) Flush(w *tabwriter.Writer) error {
	if p.err != nil {
		return p.err
	}
	return w.Flush()
}

// micros prints microseconds to three digits.
func micros(us float64) string {
	d := time.Duration(us * float64(time.Microsecond))
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", us/1000)
	}
	return fmt.Sprintf("%.3g µs", us)
}
