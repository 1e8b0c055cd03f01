package demo

import (
	"encoding/json"
	"fmt"
	"math"
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
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// worst is the result that oversold most, and among equals the one with most overlaps.
func worst(results []*result) *result {
	w := results[0]
	for _, r := range results[1:] {
		if r.Oversold > w.Oversold || r.Oversold == w.Oversold && r.Overlaps > w.Overlaps {
			w = r
		}
	}
	return w
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
