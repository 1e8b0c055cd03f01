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

// tie is the time within which the order of two buyers is unknown: it passes between
// reading the clock and the arrival of the command at the server.
const tie = time.Millisecond

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
	left    int      // what the shop thinks is left
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
	return json.Marshal(math.Round(float64(m)/float64(time.Millisecond)*10) / 10)
}

func (m milliseconds) String() string { return console.Duration(time.Duration(m)) }

func newResult(s *sale, way string, visits []*visit, sold, left int) *result {
	r := &result{Way: way, visits: visits, Sold: sold, left: left, Oversold: max(0, sold-s.Stock)}
	var commands int64
	for _, v := range visits {
		commands += v.Commands
		if v.Met {
			r.Overlaps++
		}
		if v.Foreign {
			r.foreign++
		}
		r.LongestWait = max(r.LongestWait, milliseconds(v.Entered-v.Arrived))
		if took := milliseconds(v.Left - v.Arrived); v.Bought {
			r.Slowest = max(r.Slowest, took)
			if r.Fastest == 0 || took < r.Fastest {
				r.Fastest = took
			}
		}
	}
	r.CommandsPerBuyer = math.Round(float64(commands)/float64(len(visits))*100) / 100
	r.Fairness = math.Round(fairness(visits)*1000) / 1000
	return r
}

// fairness is Jain's index of 1/(1+o); o is the number of buyers that came later and went
// in first.
func fairness(visits []*visit) float64 {
	shares := make([]float64, len(visits))
	for i, v := range visits {
		overtaken := 0
		for _, other := range visits {
			if other.Arrived > v.Arrived+tie && other.Entered < v.Entered {
				overtaken++
			}
		}
		shares[i] = 1 / float64(1+overtaken)
	}
	return jain(shares)
}

// jain is (Σx)²/nΣx²: 1 when all shares are equal, 1/n when one has everything.
// (Jain, Chiu, Hawe, 1984: A Quantitative Measure of Fairness.)
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// worst is the result that oversold most, and among equals the one with most overlaps.
func worst(results []*result) *result {
	return slices.MaxFunc(results, func(a, b *result) int {
		return cmp.Or(cmp.Compare(a.Oversold, b.Oversold), cmp.Compare(a.Overlaps, b.Overlaps))
	})
}

// The columns of the table; with the spaces between them it is 80 wide.
const (
	tableHead1 = "                                                     longest  commands"
	tableHead2 = "way      sold  oversold  overlaps  fastest  slowest     wait per buyer  fairness"
)

// print prints a table, and in words what the numbers of each way mean.
func (r *report) print(s console.Screen, sale *sale) {
	s.Printf("%d buyers, %s. The lock's ttl is %v, %s %v to pay.\n\n",
		sale.Buyers, console.Count(sale.Stock, "piece", "pieces"), saleTTL, console.Count(sale.slowBuyers(), "buyer takes", "buyers take"), slowPayment)
	s.Printf("%s\n%s\n", s.Paint(console.Bold, tableHead1), s.Paint(console.Bold, tableHead2))
	verdict := func(faults int) string {
		return s.Paint(map[bool]string{true: console.Bad, false: console.Good}[faults > 0], fmt.Sprintf("%8d", faults))
	}
	for _, w := range r.Ways {
		s.Printf("%-8s %4d  %s  %s  %7v  %7v  %7v  %8.1f  %8.2f\n", w.Way, w.Sold, verdict(w.Oversold), verdict(w.Overlaps),
			w.Fastest, w.Slowest, w.LongestWait, w.CommandsPerBuyer, w.Fairness)
	}
	s.Printf("\n")
	for _, w := range r.Ways {
		remark := func(when bool, text string) {
			if when {
				s.Printf("%-8s  %s\n", w.Way, text)
			}
		}
		remark(w.Oversold > 0, fmt.Sprintf("%s sold beyond the stock; the books of the shop say %d left", console.Count(w.Oversold, "piece was", "pieces were"), w.left))
		remark(w.foreign > 0, console.Count(w.foreign, "buyer deleted", "buyers deleted")+" the lock of another buyer")
		remark(w.Oversold == 0 && w.Overlaps > 0, "buyers met in the shop; nothing was oversold this time")
		remark(w.Overlaps == 0, "no two buyers met")
	}
}

// printFrozen says in words what happened.
func printFrozen(s console.Screen, results []frozenResult) {
	if len(results) == 0 {
		return
	}
	s.Printf("\n%s\n", s.Paint(console.Bold, "frozen: a holder is paused after its last check and before its write"))
	for _, r := range results {
		till, late, colour := "accepts each write", "went through", console.Bad
		if r.TokenChecked {
			till = "checks the token"
		}
		if r.Refused {
			late, colour = "was refused", console.Good
		}
		s.Printf("frozen    the shop %s: after %s the late write %s; %d of 1 sold, %d oversold\n",
			till, r.Froze, s.Paint(colour, late), r.Sold, r.Oversold)
	}
}

// maxRows is how many buyers a picture shows.
const maxRows = 40

// The parts of a picture.
type mark int

const (
	away    mark = iota // not come yet, or gone
	waiting             // in front of the shop
	inside              // alone in the shop
	meeting             // in the shop, and not alone
)

// printPictures draws when each buyer was in the shop: for the worst way, and for
// holdfast.
func printPictures(s console.Screen, results []*result) {
	ours := results[len(results)-1]
	if w := worst(results); w != ours {
		printPicture(s, w)
	}
	printPicture(s, ours)
	s.Printf("%s waiting   %s in the shop   %s in the shop with others\n", cell(s, waiting), cell(s, inside), cell(s, meeting))
}

// printPicture draws a row for each buyer, time going to the right.
func printPicture(s console.Screen, r *result) {
	const label = 4 // buyer's number and a space
	width := min(max(s.Width-label-1, 20), 200)
	end := time.Duration(1)
	for _, v := range r.visits {
		end = max(end, v.Left)
	}
	title := fmt.Sprintf("%s: %d overlaps, %d oversold", r.Way, r.Overlaps, r.Oversold)
	s.Printf("\n%s\n", s.Paint(console.Bold, title))
	for i, v := range r.visits[:min(len(r.visits), maxRows)] {
		s.Printf("%s %s\n", s.Paint(console.Dim, fmt.Sprintf("%3d", i+1)), row(s, v, r.visits, end, width))
	}
	if more := len(r.visits) - maxRows; more > 0 {
		s.Printf("    … and %d more\n", more)
	}
	s.Printf("    0%*s\n\n", width-1, console.Duration(end))
}

// row is one visit: what it was in each of width equal spans of the time until end. The
// strongest mark in a span wins.
func row(s console.Screen, v *visit, all []*visit, end time.Duration, width int) string {
	marks := make([]mark, width)
	fill := func(from, to time.Duration, m mark) {
		at := func(t time.Duration) int { return min(max(int(int64(t)*int64(width)/int64(end)), 0), width-1) }
		for i := at(from); i <= at(to); i++ {
			marks[i] = max(marks[i], m)
		}
	}
	fill(v.Arrived, v.Entered, waiting)
	fill(v.Entered, v.Left, inside)
	for _, other := range all {
		if from, to := max(v.Entered, other.Entered), min(v.Left, other.Left); other != v && from < to {
			fill(from, to, meeting)
		}
	}
	var b strings.Builder
	for _, m := range marks {
		b.WriteString(cell(s, m))
	}
	return strings.TrimRight(b.String(), " ")
}

func cell(s console.Screen, m mark) string {
	glyph := []string{" ", ".", "#", "X"}[m]
	if s.Unicode {
		glyph = []string{" ", "·", "█", "▓"}[m]
	}
	return s.Paint([]string{"", console.Dim, console.Good, console.Bad}[m], glyph)
}
