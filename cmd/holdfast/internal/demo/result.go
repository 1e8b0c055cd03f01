package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// report is what -o json prints. Its names are promised.
type report struct {
	Stock  int            `json:"stock"`
	Buyers int            `json:"buyers"`
	Ways   []*result      `json:"ways"`
	Frozen []frozenResult `json:"frozen"`
}

// result is how the sale went with one way.
type result struct {
	Way              string       `json:"way"`
	Sold             int          `json:"sold"` // sales recorded
	Oversold         int          `json:"oversold"`
	Overlaps         int          `json:"overlaps"`
	Fastest          milliseconds `json:"fastest_ms"`
	Slowest          milliseconds `json:"slowest_ms"`
	LongestWait      milliseconds `json:"longest_wait_ms"`
	CommandsPerBuyer float64      `json:"commands_per_buyer"`
	Fairness         float64      `json:"fairness"`

	visits  []*visit // by buyer, which is by arrival
	left    string   // what the shop thinks is left
	foreign int      // locks of others that were deleted
}

// frozenResult is how that went.
type frozenResult struct {
	TokenChecked bool         `json:"token_checked"`
	Froze        milliseconds `json:"frozen_ms"`
	Refused      bool         `json:"refused"` // the late write
	Sold         int          `json:"sold"`
	Oversold     int          `json:"oversold"`
}

// milliseconds is a duration that JSON shows in ms, to a tenth.
type milliseconds time.Duration

func (m milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(round(float64(m)/float64(time.Millisecond), 10))
}

func (m milliseconds) String() string { return console.Duration(time.Duration(m)) }

func round(x, parts float64) float64 { return math.Round(x*parts) / parts }

func newResult(s *shop, visits []*visit) *result {
	r := &result{Way: s.name, Fairness: round(fairness(visits), 1000), visits: visits, foreign: int(s.foreign.Load())}
	var commands int64
	for _, v := range visits {
		commands += v.Commands
		r.LongestWait = max(r.LongestWait, milliseconds(v.Entered-v.Arrived))
		if took := milliseconds(v.Left - v.Arrived); v.Bought {
			r.Sold++
			r.Slowest = max(r.Slowest, took)
			r.Fastest = min(cmp.Or(r.Fastest, took), took)
		}
		if v.Met {
			r.Overlaps++
		}
	}
	r.Oversold = max(0, r.Sold-s.stock)
	r.CommandsPerBuyer = round(float64(commands)/float64(len(visits)), 100)
	return r
}

// tie is the time within which the order of two buyers is unknown: it passes between
// reading the clock and the arrival of the command at the server.
const tie = time.Millisecond

// fairness is Jain's index, (Σx)²/nΣx², of x = 1/(1+o) for each of n buyers; o is the number of buyers
// that came later and went in first. It is 1 when all shares are equal, 1/n when one has everything.
// (Jain, Chiu, Hawe, 1984: A Quantitative Measure of Fairness.)
func fairness(visits []*visit) float64 {
	var sum, squares float64
	for _, v := range visits {
		overtaken := 0.0
		for _, other := range visits {
			if other.Arrived > v.Arrived+tie && other.Entered < v.Entered {
				overtaken++
			}
		}
		x := 1 / (1 + overtaken)
		sum, squares = sum+x, squares+x*x
	}
	return sum * sum / (float64(len(visits)) * squares)
}

// worst is the result that oversold most, and among equals the one with most overlaps.
func worst(results []*result) *result {
	return slices.MaxFunc(results, func(a, b *result) int {
		return cmp.Or(cmp.Compare(a.Oversold, b.Oversold), cmp.Compare(a.Overlaps, b.Overlaps))
	})
}

// The columns of the table; with the spaces between them it is 80 wide.
const tableHead = `                                                     longest  commands
way      sold  oversold  overlaps  fastest  slowest     wait per buyer  fairness`

// print prints all of it for people: a table, what the numbers of each way mean, a picture of the
// worst way and of holdfast, and what happened with the frozen holder.
func (r *report) print(s console.Screen) {
	s.Printf("%d buyers, %s. The lock's ttl is %v, %s %v to pay.\n\n",
		r.Buyers, console.Count(r.Stock, "piece", "pieces"), saleTTL, console.Count(len(slow(r.Buyers)), "buyer takes", "buyers take"), slowPayment)
	for line := range strings.Lines(tableHead) {
		s.Printf("%s\n", s.Paint(console.Bold, strings.TrimSuffix(line, "\n")))
	}
	faults := func(n int) string {
		return s.Paint(map[bool]string{true: console.Bad, false: console.Good}[n > 0], fmt.Sprintf("%8d", n))
	}
	for _, w := range r.Ways {
		s.Printf("%-8s %4d  %s  %s  %7v  %7v  %7v  %8.1f  %8.2f\n", w.Way, w.Sold, faults(w.Oversold), faults(w.Overlaps),
			w.Fastest, w.Slowest, w.LongestWait, w.CommandsPerBuyer, w.Fairness)
	}
	s.Printf("\n")
	for _, w := range r.Ways {
		w.remark(s)
	}
	ours := r.Ways[len(r.Ways)-1]
	if w := worst(r.Ways); w != ours {
		w.picture(s)
	}
	ours.picture(s)
	s.Printf("%s waiting   %s in the shop   %s in the shop with others\n", paint(s, waiting), paint(s, inside), paint(s, meeting))
	s.Printf("\n%s\n", s.Paint(console.Bold, "frozen: a holder is paused after its last check and before its write"))
	for _, f := range r.Frozen {
		till := map[bool]string{false: "accepts each write", true: "checks the token"}[f.TokenChecked]
		late := map[bool]string{false: s.Paint(console.Bad, "went through"), true: s.Paint(console.Good, "was refused")}[f.Refused]
		s.Printf("frozen    the shop %s: after %s the late write %s; %d of 1 sold, %d oversold\n", till, f.Froze, late, f.Sold, f.Oversold)
	}
}

// remark says in words what the numbers mean.
func (r *result) remark(s console.Screen) {
	say := func(when bool, text string) {
		if when {
			s.Printf("%-8s  %s\n", r.Way, text)
		}
	}
	say(r.Oversold > 0, fmt.Sprintf("%s sold beyond the stock; the books of the shop say %s left", console.Count(r.Oversold, "piece was", "pieces were"), r.left))
	say(r.foreign > 0, console.Count(r.foreign, "buyer deleted", "buyers deleted")+" the lock of another buyer")
	say(r.Oversold == 0 && r.Overlaps > 0, "buyers met in the shop; nothing was oversold this time")
	say(r.Overlaps == 0, "no two buyers met")
}

// The marks of a picture: a buyer waits, is alone in the shop, or is there and not alone.
const waiting, inside, meeting = '.', '#', 'X'

func paint(s console.Screen, mark rune) string {
	colour := map[rune]string{waiting: console.Dim, inside: console.Good, meeting: console.Bad}[mark]
	if s.Unicode {
		mark = map[rune]rune{' ': ' ', waiting: '·', inside: '█', meeting: '▓'}[mark]
	}
	return s.Paint(colour, string(mark))
}

// maxRows is how many buyers a picture shows.
const maxRows = 40

// picture draws a row for each buyer, time going to the right.
func (r *result) picture(s console.Screen) {
	width := min(max(s.Width-len("  1 ")-1, 20), 200)
	end := time.Duration(1)
	for _, v := range r.visits {
		end = max(end, v.Left)
	}
	s.Printf("\n%s\n", s.Paint(console.Bold, fmt.Sprintf("%s: %d overlaps, %d oversold", r.Way, r.Overlaps, r.Oversold)))
	for i, v := range r.visits[:min(len(r.visits), maxRows)] {
		var row strings.Builder
		for k := range width {
			from, to := end*time.Duration(k)/time.Duration(width), end*time.Duration(k+1)/time.Duration(width)
			row.WriteString(paint(s, r.during(v, from, to)))
		}
		s.Printf("%s %s\n", s.Paint(console.Dim, fmt.Sprintf("%3d", i+1)), strings.TrimRight(row.String(), " "))
	}
	if more := len(r.visits) - maxRows; more > 0 {
		s.Printf("    … and %d more\n", more)
	}
	s.Printf("    0%*s\n\n", width-1, console.Duration(end))
}

// during is what a buyer does from a time until before another. The strongest mark wins.
func (r *result) during(v *visit, from, to time.Duration) rune {
	meets := func(other *visit) bool {
		begin, end := max(v.Entered, other.Entered), min(v.Left, other.Left)
		return other != v && begin < end && begin < to && end >= from
	}
	switch {
	case slices.ContainsFunc(r.visits, meets):
		return meeting
	case v.Entered < to && v.Left >= from:
		return inside
	case v.Arrived < to && v.Entered >= from:
		return waiting
	}
	return ' '
}
