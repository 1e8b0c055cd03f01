package report

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/test/bench/workload"
)

// The guard against getting slower. What is compared with the committed medians
// is no absolute figure but its ratio to a limit of the same run: both ran on
// the same machine in the same minutes. It fails when the median of a ratio is
// worse by more than its tolerance, which is as wide as two runs of the same code
// differ on a machine of two noisy cores, and no round reached the committed
// median either: what got slower is slow in all of them.
type guard struct {
	what      string
	figure    figure
	limit     figure // of the limit's row; of nil: the figure itself is compared
	less      bool   // less is better
	tolerance float64
}

var guards = []guard{
	{what: "locks per second", figure: opsFigure, limit: opsFigure, tolerance: 0.30},
	{what: "p50 wait", figure: p50Figure, limit: p50Figure, less: true, tolerance: 0.40},
	{what: "p50 of the hand-over", figure: handoverP50Figure, limit: p50Figure, less: true, tolerance: 0.40},
	{what: "commands", figure: commandsFigure, less: true, tolerance: 0.05},
}

// regression is one guard's finding.
type regression struct {
	workload, who, what string
	then, now           float64
	worse, tolerance    float64 // by this part
	failed              bool
}

// against compares a run with an earlier one.
func against(r *Report, earlier *Report) []regression {
	var all []regression
	for i := range r.Rows {
		now := &r.Rows[i]
		if c, _ := workload.ContenderNamed(now.Who); !c.IsOurs() {
			continue
		}
		then := earlier.row(now.Workload, now.Who)
		if then == nil {
			continue
		}
		for _, g := range guards {
			a, ok1 := g.value(earlier, then)
			b, ok2 := g.value(r, now)
			if !ok1 || !ok2 {
				continue
			}
			q := regression{workload: now.Workload, who: now.Who, what: g.what, then: a.mid, now: b.mid, worse: a.mid/b.mid - 1, tolerance: g.tolerance}
			best := b.most >= a.mid
			if g.less {
				q.worse, best = b.mid/a.mid-1, b.least <= a.mid
			}
			q.failed = q.worse > g.tolerance && !best
			all = append(all, q)
		}
	}
	return all
}

// value is the guarded ratio, or the figure where it needs no limit.
func (g guard) value(r *Report, row *Row) (spread, bool) {
	value := spreadOf(row, g.figure)
	if g.limit.of == nil {
		return value, value.mid > 0.01 // below, turns in the process: nearly no commands at all
	}
	limit := r.row(row.Workload, guardOf(row))
	if limit == nil || value.mid == 0 {
		return spread{}, false
	}
	s := ratio(row, g.figure, limit, g.limit)
	return s, s.mid > 0
}

// guardOf names the limit that a row is compared with.
func guardOf(row *Row) string {
	w, _ := workload.Named(row.Workload)
	if w.Guard != "" {
		return w.Guard
	}
	c, _ := workload.ContenderNamed(row.Who)
	return "limit-" + c.Library
}

// Check prints what the guards find beside the committed figures and fails when
// something got worse.
func Check(r *Report, out io.Writer) error {
	earlier, err := readLatest()
	if err != nil {
		return err
	}
	found := against(r, earlier)
	if len(found) == 0 {
		return errors.New("nothing to compare: no row of this run is in " + LatestFile)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p := &printer{w: w}
	p.printf("\nbeside %s (%s), as ratios to the limits of the same run\nworkload\twho\twhat\tthen\tnow\tworse by\tat most\t\n", LatestFile, earlier.Date)
	failed := 0
	for _, q := range found {
		word := ""
		switch {
		case q.failed:
			word = "TOO MUCH"
			failed++
		case q.worse > q.tolerance:
			word = "not in all rounds" // one at least reached the committed median
		}
		p.printf("%s\t%s\t%s\t%.3g\t%.3g\t%+.0f %%\t%.0f %%\t%s\n", q.workload, q.who, q.what, q.then, q.now, 100*q.worse, 100*q.tolerance, word)
	}
	if err := errors.Join(p.err, w.Flush()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d ratios are worse than the committed ones by more than their tolerance", failed, len(found))
	}
	return nil
}
