package report

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// PrintText prints the report for a terminal: every row, and the ratios and goals of the page.
func PrintText(out io.Writer, r *Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := &printer{w: w}
	p.printf("%s; %s, Go %s; rounds of a cell: %d × %s\n\n", r.Machine, r.Versions["server"], r.Versions["go"], r.Rounds, r.Window)
	p.printf("workload\twho\tlocks/s\tspread\tp50\tp99\tlongest\tfairness\tcommands\tin scripts\tCPU/op\tserver\thand-over p50\tp99\toverlaps\t\n")
	for i := range r.Rows {
		row := &r.Rows[i]
		s := spreadOf(row, opsFigure)
		p.printf("%s\t%s\t%s\t%s–%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%s\t%s\t%s\t%s\t%d\t\n", row.Workload, row.Who, number(row.OpsPerSecond),
			number(s.least), number(s.most), micros(row.P50), micros(row.P99), micros(row.Max), row.Jain, row.Commands, row.InScripts,
			micros(row.ClientCPU), micros(row.ServerCPU), micros(row.HandoverP50), micros(row.HandoverP99), row.Overlaps)
	}
	if err := errors.Join(p.err, w.Flush()); err != nil {
		return err
	}
	page := &page{printer{w: out}}
	if len(r.Rows) > 0 {
		page.printf("\n")
		page.beside(r)
		page.verdicts(r)
	}
	for i := range r.Rows {
		page.notes(&r.Rows[i])
	}
	return errors.Join(page.err, PrintBulk(out, r.Bulk))
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
