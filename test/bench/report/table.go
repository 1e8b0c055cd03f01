package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/test/bench/callers"
)

// columns of the table for the terminal, of callers in a loop.
var columns = []string{
	ops, "p50_us", "p99_us", "max_us", "jain", "commands_per_op", "script_commands_per_op", "client_cpu_us_per_op", "server_cpu_us_per_op",
	"allocs_per_op", "alloc_bytes_per_op", "handover_p50_us", "handover_p99_us", "overlaps", "failed",
}

// Print writes all rows for a terminal, and then the goals.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	short := strings.NewReplacer("_per_op", "", "script_commands", "in scripts", "alloc_bytes", "bytes", "handover", "hand-over", "_cpu_us", "_us", "_", " ")
	fmt.Fprintln(w, "workload\twho\t"+short.Replace(strings.Join(columns, "\t")))
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%s", row.Workload, row.Who)
		if row.Figures[ops] > 0 {
			for _, c := range columns {
				fmt.Fprintf(w, "\t%s", number(row.Figures[c]))
			}
		} else {
			for _, name := range slices.Sorted(maps.Keys(row.Figures)) {
				fmt.Fprintf(w, "\n  %s: %s", name, number(row.Figures[name]))
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\ngoal of\twho\tfigure\tdivided by that of\tgoal\tfound\t\n")
	for _, g := range goals {
		if row := r.row(g.workload, g.who); row != nil {
			g.print(w, r, row)
		}
	}
	return w.Flush()
}

// goal is a bound for a figure of holdfast, or for its ratio to that of another contender.
type goal struct {
	workload, who, figure string
	by                    string // a contender; "best" is the best other library; "best goredis" that on a client library
	atLeast, atMost       float64
}

var goals = []goal{
	{"B1", "holdfast", ops, "best rueidis", 1, 0},
	{"B1", "holdfast", ops, "limit-two-scripts-rueidis", 0.85, 0},
	{"B1", "holdfast-goredis", ops, "best goredis", 0.88, 0},
	{"B1", "holdfast-goredis", "client_cpu_us_per_op", "redislock", 0, 1.3},
	{"B1c", "holdfast", ops, "best rueidis", 1, 0},
	{"B1c", "holdfast-goredis", ops, "best goredis", 0.88, 0},
	{"B1c", "holdfast-goredis-plain", ops, "redislock-plain", 0.85, 0},
	{"B1c", "holdfast-goredis-plain", "p50_us", "redislock-plain", 0, 1.2},
	{"B1c", "holdfast-goredis-plain", "p99_us", "redislock-plain", 0, 1.3},
	{"B2", "holdfast", ops, "best", 1.4, 0},
	{"B3", "holdfast", ops, "best", 60, 0},
	{"B4", "holdfast", "max_us", "best", 0, 0.05},
	{"B5", "holdfast", ops, "limit", 0.97, 0},
	{"B6", "holdfast", "handover_p50_us", "limit-queue-token", 0, 1.35},
	{"B6", "holdfast", "handover_p99_us", "limit-queue-token", 0, 1.5},
	{"B8", "holdfast", "heap per lease, B", "", 0, 1536},
	{"B8", "holdfast", "goroutines for all", "", 0, 256},
	{"B9", "holdfast", "heap for each further caller, B", "", 0, 2048},
	{"B9c", "holdfast", lastServed, "", 0, 1000},
	{"F8n", "holdfast", ops, "best", 0.7, 0},
}

func (g goal) print(w io.Writer, r *Report, row *Row) {
	found, by := spread{mid: row.Figures[g.figure]}, r.row(g.workload, g.by)
	if library, isBest := strings.CutPrefix(g.by, "best"); isBest {
		by = r.best(g.workload, strings.TrimSpace(library))
	}
	who := ""
	if by != nil {
		found, who = row.over(g.figure, by, g.figure), by.Who
	} else if g.by != "" {
		return
	}
	word, bound := "met", fmt.Sprintf("≥ %g", g.atLeast)
	if g.atMost > 0 {
		bound = fmt.Sprintf("≤ %g", g.atMost)
	}
	if found.mid < g.atLeast || g.atMost > 0 && found.mid > g.atMost {
		word = "NOT MET"
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s ± %s\t%s\n", g.workload, g.who, g.figure, who, bound, number(found.mid), number(found.err), word)
}

// number prints three digits that count, and thousands with commas.
func number(x float64) string {
	if math.Abs(x) < 1000 {
		return fmt.Sprintf("%.3g", x)
	}
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// pageRows are the rows of the page: who of ours, and on which client library the others are.
var pageRows = []struct{ workload, who, library string }{
	{"B1", "holdfast", "rueidis"}, {"B1", "holdfast-goredis", "goredis"},
	{"B1c", "holdfast", "rueidis"}, {"B1c", "holdfast-goredis", "goredis"},
	{"B2", "holdfast", ""}, {"B3", "holdfast", ""}, {"B4", "holdfast", ""}, {"B5", "holdfast", ""}, {"B6", "holdfast", ""},
	{"F2", "holdfast", ""}, {"F3", "holdfast", ""}, {"F8", "holdfast", ""}, {"F8n", "holdfast", ""},
}

const pageTop = `<!-- made by go run ./test/bench/cmd -report; edit that -->
# Benchmarks

Locks and releases per second of holdfast, and of the best other library or recipe whose lock held. The
ratio is the median over the rounds. **Bold: the other is faster.** The longest wait is that of all
rounds; the end of a run cuts the waits of starved callers.

| workload | holdfast | best other | ratio | longest wait, ms: holdfast | other |
|---|---:|---|---:|---:|---:|
`

const pageEnd = `
Callers lock, work and release in a loop, which few programs do. One machine runs callers and Redis,
without a network; a network adds its round trip to every library. Each contender runs in processes of
its own, in another order each round. A library that polls has the delay that did best here: the caller
that releases then mostly gets the lock again, which makes many locks and long waits. holdfast keeps
order between processes, makes fencing tokens and watches the deadline; most others do not. Every round,
more figures, the settings and the limits are in [latest.json](benchmarks/latest.json).

To repeat it, run ` + "`make bench`" + `, or for one row ` + "`make bench BENCH='-run B4'`" + `. Measured:

`

// Page is docs/benchmarks.md.
func (r *Report) Page() []byte {
	b := bytes.NewBufferString(pageTop)
	for _, q := range pageRows {
		row, best := r.row(q.workload, q.who), r.best(q.workload, q.library)
		if row == nil || best == nil {
			continue
		}
		w, _, _ := callers.Find(q.workload, q.who)
		says := w.Says
		if q.library != "" {
			says += ", on " + strings.Replace(q.library, "goredis", "go-redis", 1)
		}
		ratio := row.over(ops, best, ops)
		shown := number(ratio.mid)
		if ratio.mid < 1 {
			shown = "**" + shown + "**"
		}
		fmt.Fprintf(b, "| %s: %s | %s | %s %s | %s | %s | %s |\n", q.workload, says, number(row.Figures[ops]),
			number(best.Figures[ops]), best.Who, shown, number(row.Figures["max_us"]/1000), number(best.Figures["max_us"]/1000))
	}
	b.WriteString(pageEnd)
	of := map[string][]string{}
	for _, row := range r.Rows {
		if !slices.Contains(of[row.Measured], row.Workload) {
			of[row.Measured] = append(of[row.Measured], row.Workload)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(r.Measured)) {
		fmt.Fprintf(b, "- %s, by %s (%s)\n", word, r.Measured[word], strings.Join(of[word], ", "))
	}
	return b.Bytes()
}
