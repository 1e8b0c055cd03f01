package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

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
		s.Printf("%s %s\n", s.Paint(console.Dim, fmt.Sprintf("%3d", i+1)), row(s, draw(v, r.visits, end, width)))
	}
	if more := len(r.visits) - maxRows; more > 0 {
		s.Printf("    … and %d more\n", more)
	}
	length := console.Duration(end)
	s.Printf("    0%*s\n\n", width-1, length)
}

// draw is the row of one visit: what it was in each of width equal spans of the
// time until end. The strongest mark in a span wins.
func draw(v *visit, all []*visit, end time.Duration, width int) []mark {
	row := make([]mark, width)
	at := func(t time.Duration) int {
		return min(max(int(int64(t)*int64(width)/int64(end)), 0), width-1)
	}
	fill := func(from, to time.Duration, m mark) {
		for i := at(from); i <= at(to); i++ {
			row[i] = max(row[i], m)
		}
	}
	fill(v.Arrived, v.Entered, waiting)
	fill(v.Entered, v.Left, inside)
	for _, other := range all {
		if other == v {
			continue
		}
		if from, to := max(v.Entered, other.Entered), min(v.Left, other.Left); from < to {
			fill(from, to, meeting)
		}
	}
	return row
}

// row joins marks to text, each run of equal ones painted once.
func row(s console.Screen, marks []mark) string {
	var b strings.Builder
	for start := 0; start < len(marks); {
		end := start
		for end < len(marks) && marks[end] == marks[start] {
			end++
		}
		b.WriteString(s.Paint(markColours[marks[start]], strings.Repeat(glyph(s, marks[start]), end-start)))
		start = end
	}
	return strings.TrimRight(b.String(), " ")
}

func cell(s console.Screen, m mark) string { return s.Paint(markColours[m], glyph(s, m)) }

func glyph(s console.Screen, m mark) string {
	if s.Unicode {
		return []string{" ", "·", "█", "▓"}[m]
	}
	return []string{" ", ".", "#", "X"}[m]
}

var markColours = []string{away: "", waiting: console.Dim, inside: console.Good, meeting: console.Bad}
