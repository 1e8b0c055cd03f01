package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/figures"
)

// spread is a number over the rounds.
type spread struct{ mid, least, most float64 }

// spreadOf is a figure of one row.
func spreadOf(row *Row, f figure) spread {
	var values []float64
	for i := range row.Each {
		values = append(values, *f.of(&row.Each[i].Figures))
	}
	s := over(values)
	s.mid = *f.of(&row.Figures)
	return s
}

// ratio is a figure of one row through one of another, round by round: what
// slows the machine for a while slows both.
func ratio(a *Row, f figure, b *Row, g figure) spread {
	var values []float64
	for i := range a.Each {
		k := slices.IndexFunc(b.Each, func(r Round) bool { return r.Round == a.Each[i].Round })
		if k < 0 {
			continue
		}
		if through := *g.of(&b.Each[k].Figures); through > 0 {
			values = append(values, *f.of(&a.Each[i].Figures)/through)
		}
	}
	return over(values)
}

func over(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	return spread{figures.Median(values), slices.Min(values), slices.Max(values)}
}

// inverse turns a ratio of rates into one of times.
func (s spread) inverse() spread {
	if s.least == 0 {
		return spread{}
	}
	return spread{1 / s.mid, 1 / s.most, 1 / s.least}
}

// text is the number with its spread, if there were rounds to spread over.
func (s spread) text() string {
	if s.least == s.most {
		return number(s.mid)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.mid), number(s.least), number(s.most))
}

// number prints three digits that count, and thousands with commas.
func number(x float64) string {
	if x < 1000 {
		return fmt.Sprintf("%.3g", x)
	}
	return figures.Thousands(int(math.RoundToEven(x)))
}

// best is the peer with the most, or where less is better the least, of a
// figure in a workload. library limits it to peers on that client library. nil:
// there is none.
func best(r *Report, name, library string, f figure, less bool) *Row {
	var best *Row
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Workload != name || !row.isMeasure() {
			continue
		}
		if c, _ := workload.ContenderNamed(row.Who); library != "" && c.Library != library {
			continue
		}
		value := *f.of(&row.Figures)
		if best == nil || less && value < *f.of(&best.Figures) || !less && value > *f.of(&best.Figures) {
			best = row
		}
	}
	return best
}

// beside is one of ours beside the best peer in one workload.
type beside struct {
	workload, who string
	ops, p99      found
}

// ratios compares in every workload where a peer got a lock at all.
func ratios(r *Report) []beside {
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
		fastest, calmest := best(r, row.Workload, library, opsFigure, false), best(r, row.Workload, library, p99Figure, true)
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

// sameOthers reports whether two rows are of one workload and compared with the same others.
func (q beside) sameOthers(o beside) bool {
	return q.workload == o.workload && q.ops.beside == o.ops.beside && q.p99.beside == o.p99.beside
}
