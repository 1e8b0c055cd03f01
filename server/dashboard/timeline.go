package dashboard

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
)

// newTimeline draws the holds of the last ten minutes, or of as long as is known.
func newTimeline(holds []hold, now time.Time) *timeline {
	t := &timeline{}
	if len(holds) == 0 {
		return t
	}
	slices.SortStableFunc(holds, func(a, b hold) int { return a.from.Compare(b.from) })
	from := now.Add(-remembered)
	if first := holds[0].from; first.After(from) {
		from = first
	}
	if least := now.Add(-20 * time.Second); from.After(least) {
		from = least
	}
	t.From, t.To = ago(from), ago(now)
	span := now.Sub(from).Seconds()
	for _, h := range holds {
		to := h.to
		if to.IsZero() {
			to = now
		}
		if to.Before(from) {
			continue
		}
		x := max(0, h.from.Sub(from).Seconds()) / span * 100
		width := max(to.Sub(from).Seconds()/span*100-x, 0.25)
		b := bar{X: percent(x), Width: percent(width), Colour: colour(h.owner), ends: to,
			Title: fmt.Sprintf("%s, %s, %s", h.owner, length(to.Sub(h.from)), endText(h))}
		if width > 14 {
			b.Label = h.owner
		}
		t.place(b, h.from)
	}
	for i := len(holds) - 1; i >= 0 && len(t.Holds) < mostHoldRow; i-- {
		t.Holds = append(t.Holds, rowOf(holds[i], now))
	}
	return t
}

// slack is what two bars of one line may overlap by: a journal's times are right to about
// a round trip.
const slack = 100 * time.Millisecond

// place puts a bar into the first lane that has room; what finds none is left out of the
// picture, and stands in the table.
func (t *timeline) place(b bar, from time.Time) {
	for i := range t.Lanes {
		l := &t.Lanes[i]
		if last := l.Bars[len(l.Bars)-1]; last.ends.Sub(from) <= slack {
			l.Bars = append(l.Bars, b)
			return
		}
	}
	if len(t.Lanes) < mostLanes {
		t.Lanes = append(t.Lanes, lane{[]bar{b}})
	}
}

// noEnd is the end of a hold whose end was not recorded.
const noEnd = "no end in the journal"

func rowOf(h hold, now time.Time) holdRow {
	to := h.to
	if to.IsZero() {
		to = now
	}
	row := holdRow{Owner: h.owner, Colour: colour(h.owner), From: ago(h.from), Lasted: length(to.Sub(h.from)), End: endText(h)}
	if h.undated {
		row.From, row.Lasted = nil, "–"
	}
	if h.end == noEnd {
		row.Lasted = "–" // unknown
	}
	if h.waited > 0 {
		row.Waited = length(h.waited)
	}
	return row
}

func endText(h hold) string {
	if h.to.IsZero() {
		return "holds it now"
	}
	return h.end
}

func percent(x float64) string { return fmt.Sprintf("%.2f%%", x) }

// colour of an owner: the same everywhere.
func colour(owner string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(owner))
	return int(h.Sum32() % 8)
}

// holdsOf makes holds of what a journal says of a name, the newest first. now is the
// hold that goes on, as it was seen; nil: there is none, or several hold the name.
func holdsOf(entries []journal.Entry, now *hold) []hold {
	var holds []hold
	open := map[string]int{} // by owner and token, in holds
	key := func(e journal.Entry) string { return fmt.Sprint(e.Token, " ", e.Owner) }
	for _, e := range slices.Backward(entries) {
		switch e.Event {
		case journal.Granted:
			open[key(e)] = len(holds)
			holds = append(holds, hold{owner: labelOf(e.Owner), from: e.At, waited: e.Waited, shared: e.Kind != holdfast.KindMutex})
		case journal.Released, journal.Lost, journal.Revoked, journal.Stolen:
			end := string(e.Event)
			if because := cmp.Or(e.Reason, string(e.Cause)); because != "" {
				end += ": " + visible(because)
			}
			i, known := open[key(e)]
			if !known {
				i = len(holds)
				holds = append(holds, hold{owner: labelOf(e.Owner), from: e.At.Add(-e.Held)})
			}
			holds[i].to, holds[i].end = e.At, end
			delete(open, key(e))
		}
	}
	slices.SortStableFunc(holds, func(a, b hold) int { return a.from.Compare(b.from) })
	// The journal is a little behind what is seen.
	if n := len(holds); now != nil && n > 0 && now.from.After(holds[n-1].from) && now.owner != holds[n-1].owner {
		holds = append(holds, *now)
	}
	// A process that dies writes no end: of a mutex the next grant tells that it came.
	for i := range holds {
		last := i == len(holds)-1
		if h := &holds[i]; h.to.IsZero() && !h.shared && (!last || now == nil) {
			h.to, h.end = h.from, noEnd
			if !last {
				h.to = holds[i+1].from
			}
		}
	}
	return holds
}
