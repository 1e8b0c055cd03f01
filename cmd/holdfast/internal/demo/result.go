package demo

import (
	"math"
	"time"
)

// tie is the time within which the order of two buyers is unknown: it passes between
// reading the clock and the arrival of the command at the server.
const tie = time.Millisecond

// result is how the sale went with one way.
type result struct {
	way      string
	visits   []*visit // by buyer, which is by arrival
	sold     int      // sales recorded
	left     int      // what the shop thinks is left
	oversold int
	overlaps int
	foreign  int // locks of others that were deleted

	fastest, slowest, longestWait time.Duration

	commands float64 // for each buyer
	fairness float64
}

func newResult(s *sale, w way, visits []*visit, sold, left int) *result {
	r := &result{way: w.name, visits: visits, sold: sold, left: left, oversold: max(0, sold-s.Stock), fairness: fairness(visits)}
	var commands int64
	for _, v := range visits {
		commands += v.Commands
		if v.Met {
			r.overlaps++
		}
		if v.Foreign {
			r.foreign++
		}
		r.longestWait = max(r.longestWait, v.Entered-v.Arrived)
		if took := v.Left - v.Arrived; v.Bought {
			r.slowest = max(r.slowest, took)
			if r.fastest == 0 || took < r.fastest {
				r.fastest = took
			}
		}
	}
	r.commands = float64(commands) / float64(len(visits))
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
		if r.oversold > w.oversold || r.oversold == w.oversold && r.overlaps > w.overlaps {
			w = r
		}
	}
	return w
}

// report is what -o json prints. Its names are promised.
type report struct {
	Stock  int            `json:"stock"`
	Buyers int            `json:"buyers"`
	Ways   []reportWay    `json:"ways"`
	Frozen []reportFrozen `json:"frozen"`
}

type reportFrozen struct {
	TokenChecked bool    `json:"token_checked"`
	FrozenMS     float64 `json:"frozen_ms"`
	Refused      bool    `json:"refused"`
	Sold         int     `json:"sold"`
	Oversold     int     `json:"oversold"`
}

type reportWay struct {
	Way              string  `json:"way"`
	Sold             int     `json:"sold"`
	Oversold         int     `json:"oversold"`
	Overlaps         int     `json:"overlaps"`
	FastestMS        float64 `json:"fastest_ms"`
	SlowestMS        float64 `json:"slowest_ms"`
	LongestWaitMS    float64 `json:"longest_wait_ms"`
	CommandsPerBuyer float64 `json:"commands_per_buyer"`
	Fairness         float64 `json:"fairness"`
}

func newReport(s *sale, results []*result, frozen []frozenResult) report {
	rep := report{Stock: s.Stock, Buyers: s.Buyers}
	for _, r := range results {
		rep.Ways = append(rep.Ways, reportWay{
			Way: r.way, Sold: r.sold, Oversold: r.oversold, Overlaps: r.overlaps,
			FastestMS: tenthsOfMS(r.fastest), SlowestMS: tenthsOfMS(r.slowest), LongestWaitMS: tenthsOfMS(r.longestWait),
			CommandsPerBuyer: math.Round(r.commands*100) / 100,
			Fairness:         math.Round(r.fairness*1000) / 1000,
		})
	}
	for _, r := range frozen {
		rep.Frozen = append(rep.Frozen, reportFrozen{
			TokenChecked: r.checked, FrozenMS: tenthsOfMS(r.froze), Refused: r.refused, Sold: r.sold, Oversold: r.oversold(),
		})
	}
	return rep
}

func tenthsOfMS(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Millisecond)*10) / 10
}
