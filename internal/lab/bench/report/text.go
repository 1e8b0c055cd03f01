package report

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
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
	if err := p.flush(w); err != nil {
		return err
	}
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p = &printer{w: w}
	p.printf("\nholdfast beside the best peer, median of the rounds (least to most)\nworkload\twho\tlocks per second\tthe best\tp99 wait\tthe best\n")
	for _, q := range ratios(&r) {
		p.printf("%s\t%s\t× %s\t%s\t× %s\t%s\n", q.workload, q.who, q.ops.text(), q.ops.beside, q.p99.text(), q.p99.beside)
	}
	p.printf("\nrequirement\twho\tof\twanted\tfound\tbeside\tverdict\tlimits\n")
	for _, v := range verdicts(&r) {
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
	if err := p.flush(w); err != nil {
		return err
	}
	return PrintBulk(out, r.Bulk)
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

func (p *printer) flush(w *tabwriter.Writer) error {
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
