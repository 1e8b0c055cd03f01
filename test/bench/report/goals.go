package report

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/workload"
)

// requirement is one thing that holdfast is to reach.
type requirement struct {
	workload string
	who      string // which of ours
	says     string
	atLeast  bool // else at most
	bound    float64
	measure  func(r *Report, own *Row) (found, bool)
	limits   []string // that do less than is promised, and nothing besides; who does least first
}

// found is what a requirement's figure is.
type found struct {
	spread
	beside string // whose row it was compared with
}

// verdict is a requirement in a report.
type verdict struct {
	requirement
	found
	known  bool // there are rows to tell by
	met    bool // by the median
	limits []atLimit
}

// atLimit is the same figure of a limit.
type atLimit struct {
	who string
	mid float64
}

// requirements of B1 to B7. Others append theirs.
var requirements = slices.Concat(
	uncontended("holdfast", "rueidis"),
	uncontended("holdfast-goredis", "goredis"),
	[]requirement{
		aboveBest("B2", "holdfast", "", 1.4).besides("limit-token-rueidis"),
		absolute("B3", "turns per second", opsFigure, true, 1e6),
		aboveBest("B3", "holdfast", "", 60),
		aboveBest("B4", "holdfast", "", 4),
		absolute("B4", "Jain's index", jainFigure, true, 0.99),
		belowBest("B4", "holdfast", "", "longest wait", maxFigure, 1.0/20),
		besideLimit("B5", "locks per second ÷ limit", opsFigure, "limit", opsFigure, true, 0.95),
		p99OfWork(),
		besideLimit("B6", "p50 from release to grant ÷ limit-ping-idle", handoverP50Figure, limit.PingBeside, p50Figure, false, 1.5),
		besideLimit("B6", "p99 from release to grant ÷ p50 of limit-ping-idle", handoverP99Figure, limit.PingBeside, p50Figure, false, 3),
		absolute("B6", "commands per acquisition", commandsFigure, false, 2.1),
		absolute("B7", "locks per second", opsFigure, true, 1e6),
	},
)

// uncontended is B1 on one client library.
func uncontended(who, library string) []requirement {
	set, token, lease := "limit-"+library, "limit-token-"+library, "limit-lease-"+library
	return []requirement{
		aboveBest("B1", who, library, 1).besides(set, token, lease),
		belowBest("B1", who, library, "p99", p99Figure, 1).besides(set, token, lease),
		{
			workload: "B1", who: who, bound: 1.15, limits: []string{token, lease},
			says: fmt.Sprintf("time ÷ SET NX and compare-and-delete on %s", library),
			measure: func(r *Report, own *Row) (found, bool) {
				limit := r.row("B1", set)
				if limit == nil {
					return found{}, false
				}
				return found{ratio(own, opsFigure, limit, opsFigure).inverse(), limit.Who}, true
			},
		},
	}
}

// besides names limits that show what can be reached: they do less than is promised,
// and nothing besides.
func (q requirement) besides(limits ...string) requirement {
	q.limits = limits
	return q
}

func aboveBest(workload, who, library string, bound float64) requirement {
	return requirement{
		workload: workload, who: who, atLeast: true, bound: bound,
		says:    "locks per second ÷ best other" + on(library),
		measure: throughBest(workload, library, opsFigure, false),
	}
}

func belowBest(workload, who, library, what string, f figure, bound float64) requirement {
	return requirement{
		workload: workload, who: who, bound: bound,
		says:    what + " ÷ best other" + on(library),
		measure: throughBest(workload, library, f, true),
	}
}

func on(library string) string {
	if library == "" {
		return ""
	}
	return " on " + library
}

func throughBest(workload, library string, f figure, less bool) func(*Report, *Row) (found, bool) {
	return func(r *Report, own *Row) (found, bool) {
		best := best(r, workload, library, f, less)
		if best == nil {
			return found{}, false
		}
		return found{ratio(own, f, best, f), best.Who}, true
	}
}

func absolute(workload, what string, f figure, atLeast bool, bound float64) requirement {
	return requirement{
		workload: workload, who: "holdfast", says: what, atLeast: atLeast, bound: bound,
		measure: func(_ *Report, own *Row) (found, bool) { return found{spread: spreadOf(own, f)}, true },
	}
}

// besideLimit compares a figure with one of a limit.
func besideLimit(workload, what string, f figure, limit string, g figure, atLeast bool, bound float64) requirement {
	return requirement{
		workload: workload, who: "holdfast", says: what, atLeast: atLeast, bound: bound,
		measure: func(r *Report, own *Row) (found, bool) {
			row := r.row(workload, limit)
			if row == nil {
				return found{}, false
			}
			return found{ratio(own, f, row, g), limit}, true
		},
	}
}

// p99OfWork is that waits are not much longer than the work of all who wait. It
// takes the work for what it is called, though a sleep is a little longer.
func p99OfWork() requirement {
	w, _ := workload.Named("B5")
	all := float64(w.Processes*w.Callers) * float64(w.Work.Microseconds())
	return requirement{
		workload: "B5", who: "holdfast", bound: 1.3,
		says: fmt.Sprintf("p99 ÷ %d times the work", w.Processes*w.Callers),
		measure: func(_ *Report, own *Row) (found, bool) {
			s := spreadOf(own, p99Figure)
			return found{spread: spread{s.mid / all, s.least / all, s.most / all}}, true
		},
	}
}

// verdicts judges a report.
func verdicts(r *Report) []verdict {
	var all []verdict
	for _, q := range requirements {
		v := verdict{requirement: q}
		if own := r.row(q.workload, q.who); own != nil {
			v.found, v.known = q.measure(r, own)
		}
		v.known = v.known && v.mid > 0
		v.met = v.known && q.holds(v.mid)
		for _, who := range q.limits {
			if row := r.row(q.workload, who); row != nil {
				f, _ := q.measure(r, row)
				v.limits = append(v.limits, atLimit{who, f.mid})
			}
		}
		all = append(all, v)
	}
	return all
}

// holds reports whether a figure is within the bound, by its median.
func (q requirement) holds(median float64) bool {
	if q.atLeast {
		return median >= q.bound
	}
	return median <= q.bound
}

// outOfReach reports whether no limit is within the bound, though one at least is better
// than ours: what is slower than ours shows nothing.
func (v verdict) outOfReach() bool {
	better := false
	for _, l := range v.limits {
		if l.mid <= 0 || v.holds(l.mid) {
			return false
		}
		better = better || (l.mid > v.mid) == v.atLeast
	}
	return better
}

// want is the bound for people.
func (q requirement) want() string {
	if q.atLeast {
		return "≥" + number(q.bound)
	}
	return "≤" + number(q.bound)
}

// shown is what was found, for people.
func (v verdict) shown() string {
	if !v.known {
		return ""
	}
	return v.text()
}

// word is the verdict for people.
func (v verdict) word() string {
	switch {
	case !v.known:
		return "not measured"
	case v.met:
		return "met"
	case v.outOfReach():
		return "not met, nor by any limit"
	}
	return "not met"
}

// compared is a ratio, bold if the other is better.
func (f found) compared(worse bool) string {
	if worse {
		return "**" + number(f.mid) + "**"
	}
	return number(f.mid)
}
