package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// printText is the report for a terminal.
func printText(out io.Writer, r Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := &printer{w: w}
	p.printf("%s; %s, Go %s; rounds of a cell: %d × %s\n\n", r.Machine, r.Versions["server"], r.Versions["go"], r.Rounds, r.Window)
	p.printf("workload\twho\tlocks/s\tp50\tp99\tlongest\tfairness\tcommands\tin scripts\toverlaps\t\n")
	for _, row := range r.Rows {
		p.printf("%s\t%s\t%.0f\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%d\t\n", row.Workload, row.Who, row.OpsPerSecond,
			micros(row.P50), micros(row.P99), micros(row.Max), row.Jain, row.Commands, row.InScripts, row.Overlaps)
	}
	p.printf("\nholdfast / best peer\tlocks/s\t\tp99\t\t\n")
	for _, q := range r.ratios() {
		p.printf("%s\t%.3g\t%s\t%.3g\t%s\t\n", q.workload, q.ops, q.opsBest, q.p99, q.p99Best)
	}
	for _, row := range r.Rows {
		if row.Failed > 0 {
			p.printf("%s, %s: %d calls failed, the first with: %s\n", row.Workload, row.Who, row.Failed, row.Failure)
		}
	}
	if p.err != nil {
		return p.err
	}
	return w.Flush()
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
	d := time.Duration(us) * time.Microsecond
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", us/1000)
	}
	return fmt.Sprintf("%.0f µs", us)
}
