package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/lab/bench/limit"
	"github.com/holdfast-go/holdfast/internal/lab/bench/workload"
)

// The page's part of the workloads that are about numbers, and who is who.

// told are figures without a goal that the page shows all the same. latest.json has
// the others, too, and those of one processor.
var told = []string{
	"time to lock all", "a renewal in Redis", "last waiter served after the release",
	"commands", "a name that is held", "more if one waits", "a waiter in a long queue", "a name that was used once",
	"heap per reader", "all of them hold after", "both leases believed at once, p99",
	"from the call to the end of the holder's context, p99", "from the call to the end of the old holder's context, p99",
	"from the call to the waiter's lock, p99",
}

// series is a figure that was measured for several numbers.
var series = regexp.MustCompile(`^(.*) at (\d+)(, .*)?$`)

func (p *printer) bulk(r *Report, workloads []workload.BulkWorkload) {
	for _, w := range workloads {
		begun := false
		for _, row := range r.Bulk {
			if row.Workload != w.Name || strings.HasSuffix(row.Who, "on one processor") {
				continue
			}
			if !begun {
				p.printf("### %s: %s\n\n", w.Name, w.What)
				begun = true
			}
			p.bulkRow(row)
		}
	}
}

// bulkRow is a list of figures: a series in one line, and in one line what is to be, and
// is, zero.
func (p *printer) bulkRow(row BulkRow) {
	p.printf("%s:\n\n", row.Who)
	var done, none []string
	for _, f := range row.Figures {
		m := series.FindStringSubmatch(f.Name)
		switch {
		case m != nil && !slices.Contains(done, m[1]+m[3]) && !strings.Contains(m[3], "processor time"):
			done = append(done, m[1]+m[3])
			p.printf("- %s%s, %s: %s\n", m[1], m[3], f.Unit, row.seriesOf(m[1], m[3]))
		case m == nil && f.Value == 0 && f.Met && strings.ReplaceAll(f.Limit, " ", "") == "≤0":
			none = append(none, f.Name)
		case m == nil && (f.Limit != "" || slices.Contains(told, f.Name)):
			p.printf("- %s: %s\n", f.Name, f.shown())
		}
	}
	if len(none) > 0 {
		p.printf("- 0 as required: %s\n", strings.Join(none, ", "))
	}
	p.printf("\n")
}

// seriesOf is the first and the last value of a series, and the largest if it stands
// between them, each with its number.
func (row BulkRow) seriesOf(what, of string) string {
	var all []string
	largest, at := 0.0, 0
	for _, f := range row.Figures {
		if m := series.FindStringSubmatch(f.Name); m != nil && m[1] == what && m[3] == of {
			if f.Value > largest {
				largest, at = f.Value, len(all)
			}
			all = append(all, fmt.Sprintf("%s (%s)", fourDigits(f.Value), m[2]))
		}
	}
	last := len(all) - 1
	if at > 0 && at < last {
		return strings.Join([]string{all[0], all[at], all[last]}, ", ")
	}
	return all[0] + ", " + all[last]
}

// shown is the value, and the goal if there is one.
func (f Figure) shown() string {
	text, goal := strings.TrimSpace(fourDigits(f.Value)+" "+f.Unit), strings.ReplaceAll(f.Limit, " ", "")
	switch {
	case f.Limit == "":
		return text
	case f.Met:
		return text + " (goal " + goal + ")"
	}
	return text + " (goal " + goal + ", **not met**)"
}

// fourDigits prints four digits that count, and thousands with commas.
func fourDigits(x float64) string {
	if x < 1000 {
		return fmt.Sprintf("%.4g", x)
	}
	return number(x)
}

// explained are the limits that the page speaks of.
var explained = []string{"limit", "limit-rueidis", "limit-token-rueidis", "limit-lease-rueidis", "limit-queue", "limit-queue-token", limit.PingBeside}

func (p *printer) settings(r *Report) {
	p.printf("## Contenders\n\n")
	for _, c := range slices.Concat(workload.Contenders(), limit.Limits) {
		if text := r.Settings[c.Who]; text != "" && (!strings.HasPrefix(c.Who, "limit") || slices.Contains(explained, c.Who)) {
			p.printf("- %s: %s\n", c.Who, text)
		}
	}
}
