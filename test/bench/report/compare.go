package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/test/bench/callers"
)

// compared are the figures that runs are compared by.
var compared = []struct {
	name      string
	of        string  // the figure of the limit that Check divides by; empty: none
	less      bool    // less is better
	tolerance float64 // two runs of the same code differ by so much on a machine of two noisy cores; 0: Check ignores it
}{
	{ops, ops, false, 0.30},
	{"p50_us", "p50_us", true, 0.40},
	{"handover_p50_us", "p50_us", true, 0.40},
	{"commands_per_op", "", true, 0.05},
	{lastServed, "", true, 0},
	{"processor time per operation, ns", "", true, 0},
	{"allocations per operation", "", true, 0.05},
}

// changes is a table of what two runs differ in.
type changes struct {
	*tabwriter.Writer
	n, failed int
}

func newChanges(out io.Writer) *changes {
	c := &changes{Writer: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(c, "workload\twho\tfigure\tbefore\tnow\tworse by\t")
	return c
}

func (c *changes) add(row *Row, figure string, then, now, worse float64, more string, failed bool) {
	word := ""
	if c.n++; failed {
		c.failed++
		word = "TOO MUCH"
	}
	fmt.Fprintf(c, "%s\t%s\t%s\t%s\t%s\t%+.1f %%\t%s\t%s\n", row.Workload, row.Who, figure, number(then), number(now), 100*worse, more, word)
}

func (c *changes) end() error {
	err := c.Flush()
	if c.n == 0 {
		err = errors.New("nothing to compare")
	}
	if c.failed > 0 {
		err = fmt.Errorf("%d of %d figures got worse by too much", c.failed, c.n)
	}
	return err
}

// Check compares a run with the committed figures. It takes no absolute figure where there is a limit,
// but the ratio to the limit of the same run: both ran on the same machine in the same minutes. It
// fails if the median is worse than the tolerance allows, and no round reached the committed one.
func (r *Report) Check(earlier *Report, out io.Writer) error {
	table := newChanges(out)
	for i := range r.Rows {
		row := &r.Rows[i]
		then := earlier.row(row.Workload, row.Who)
		if then == nil || !row.isOurs() {
			continue
		}
		for _, c := range compared {
			a, b := earlier.besideLimit(then, c.name, c.of), r.besideLimit(row, c.name, c.of)
			if c.tolerance == 0 || a.mid < 0.01 || b.mid == 0 { // turns in the process need nearly no commands at all
				continue
			}
			worse, reached := a.mid/b.mid-1, b.most >= a.mid
			if c.less {
				worse, reached = b.mid/a.mid-1, b.least <= a.mid
			}
			table.add(row, c.name, a.mid, b.mid, worse, fmt.Sprintf("at most %.0f %%", 100*c.tolerance), worse > c.tolerance && !reached)
		}
	}
	return table.end()
}

// besideLimit is a figure over the rounds, divided by that of the limit of the workload if of is given.
func (r *Report) besideLimit(row *Row, figure, of string) spread {
	if of == "" {
		return spreadOf(row.values(figure))
	}
	w, c, _ := callers.Find(row.Workload, row.Who)
	limit := r.row(row.Workload, cmp.Or(w.Limit, "limit-"+c.Library))
	if limit == nil {
		return spread{}
	}
	return row.over(figure, limit, of)
}

// Before is added to the names of the rows of an earlier commit.
const Before = "@before"

// CompareBefore compares the rows of this tree with those of an earlier commit in the same run. It
// fails if a median got worse by more than so many percent; 0: never.
func (r *Report) CompareBefore(percent float64, out io.Writer) error {
	table := newChanges(out)
	for i := range r.Rows {
		row := &r.Rows[i]
		before := r.row(row.Workload, row.Who+Before)
		for _, c := range compared {
			if before == nil || before.Figures[c.name] == 0 {
				continue
			}
			changed := row.over(c.name, before, c.name)
			worse := changed.mid - 1
			if !c.less {
				worse = 1/changed.mid - 1
			}
			more := fmt.Sprintf("ratio %.3f ± %.3f", changed.mid, changed.err)
			table.add(row, c.name, before.Figures[c.name], row.Figures[c.name], worse, more, percent > 0 && 100*worse > percent)
		}
	}
	return table.end()
}
