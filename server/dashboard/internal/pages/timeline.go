package pages

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// timeline shows when each holder had a name.
type timeline struct {
	From    *show.Stamp
	Lanes   [][]bar     // the bars of a lane do not overlap
	Holds   []seen.Hold // the newest first
	Written bool        // a journal has this name
}

// bar is a hold; its place is in percent.
type bar struct {
	seen.Hold
	X, Width float64
}

const (
	maxLanes = 8
	maxHolds = 20
)

// timelineOf is the journal's, or without it what was seen.
func timelineOf(b *Board, name string, l *seen.Lock) timeline {
	var t timeline
	var holds []seen.Hold
	b.Sampler.Remembers(func(p *seen.Past) { holds = slices.Clone(p.Holds[name]) })
	if b.Journal != nil {
		if entries, err := recent(b, wish{name: name}); err == nil && len(entries) > 0 {
			holds, t.Written = holdsOf(entries, l), true
		}
	}
	t.draw(holds, time.Now())
	return t
}

// draw draws the holds of the last ten minutes, or of as long as is known.
func (t *timeline) draw(holds []seen.Hold, now time.Time) {
	if len(holds) == 0 {
		return
	}
	slices.SortStableFunc(holds, byStart)
	from := slices.MaxFunc([]time.Time{now.Add(-seen.Remembered), holds[0].From}, time.Time.Compare)
	from = slices.MinFunc([]time.Time{from, now.Add(-20 * time.Second)}, time.Time.Compare)
	t.From = show.Ago(from)
	span := now.Sub(from).Seconds()
	for _, h := range holds {
		to := cmp.Or(h.To, now)
		if to.Before(from) {
			continue
		}
		x := max(0, h.From.Sub(from).Seconds()) / span * 100
		width := max(to.Sub(from).Seconds()/span*100-x, 0.25)
		t.place(bar{h, x, width}, now)
	}
	slices.Reverse(holds)
	t.Holds = holds[:min(len(holds), maxHolds)]
}

func byStart(a, b seen.Hold) int { return a.From.Compare(b.From) }

// slack is what two bars of one line may overlap by: a journal's times are right to about
// a round trip.
const slack = 100 * time.Millisecond

// place puts a bar into the first lane that has room; what finds none is left out of the
// picture, and stands in the table.
func (t *timeline) place(b bar, now time.Time) {
	for i, lane := range t.Lanes {
		if last := lane[len(lane)-1]; cmp.Or(last.To, now).Sub(b.From) <= slack {
			t.Lanes[i] = append(lane, b)
			return
		}
	}
	if len(t.Lanes) < maxLanes {
		t.Lanes = append(t.Lanes, []bar{b})
	}
}

// colour of an owner, from 0 to 7: the same everywhere.
func colour(owner string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(owner))
	return int(h.Sum32() % 8)
}

// holdsOf makes holds of what a journal says of a name, the newest first. The hold of a
// mutex that goes on is known by what was seen.
func holdsOf(entries []journal.Entry, l *seen.Lock) []seen.Hold {
	var holds []seen.Hold
	open := map[int64]int{} // by token, in holds
	for _, e := range slices.Backward(entries) {
		switch e.Event {
		case journal.Granted:
			open[e.Token] = len(holds)
			holds = append(holds, seen.Hold{Owner: show.Label(e.Owner), From: e.At, Waited: e.Waited, Shared: e.Kind != holdfast.KindMutex})
		case journal.Released, journal.Lost, journal.Revoked, journal.Stolen:
			end := string(e.Event)
			if because := cmp.Or(e.Reason, string(e.Cause)); because != "" && e.Cause != holdfast.Exported {
				end += ": " + view.Text(because)
			}
			i, known := open[e.Token]
			if !known {
				i = len(holds)
				holds = append(holds, seen.Hold{Owner: show.Label(e.Owner), From: e.At.Add(-e.Held)})
			}
			holds[i].To, holds[i].End = e.At, end
			delete(open, e.Token)
		}
	}
	slices.SortStableFunc(holds, byStart)
	var now *seen.Hold
	if l != nil && l.Held() && l.Kind == holdfast.KindMutex {
		now = &seen.Hold{Owner: show.Owner(l.Holder), From: l.Granted(), Undated: l.Holder.Foreign}
	}
	// The journal is a little behind what is seen.
	if n := len(holds); now != nil && n > 0 && now.From.After(holds[n-1].From) && now.Owner != holds[n-1].Owner {
		holds = append(holds, *now)
	}
	// A process that dies writes no end. Of a mutex the next grant shows that the hold has ended.
	for i := range holds {
		last := i == len(holds)-1
		if h := &holds[i]; h.To.IsZero() && !h.Shared && (!last || now == nil) {
			h.To, h.End, h.Unended = h.From, "no end in the journal", true
			if !last {
				h.To = holds[i+1].From
			}
		}
	}
	return holds
}
