package pages

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// timeline is who held a name when.
type timeline struct {
	From, To *show.Stamp
	Lanes    [][]bar   // the bars of a lane do not overlap
	Holds    []holdRow // the newest first
}

// bar is a hold; its place is in percent.
type bar struct {
	X, Width string
	Colour   int // 0 to 7, by owner
	Label    string
	Title    string
	ends     time.Time
}

// holdRow is a hold in words.
type holdRow struct {
	Owner  string
	Colour int
	From   *show.Stamp
	Lasted string
	Waited string
	End    string
}

const (
	mostLanes   = 8
	mostHoldRow = 20
)

// timelineOf is the journal's, or without it what was seen.
func timelineOf(b *Board, name string, l *seen.Lock) (t *timeline, written bool) {
	var holds []seen.Hold
	b.Sampler.Remembers(func(p *seen.Past) { holds = slices.Clone(p.Holds[name]) })
	if b.Journal != nil {
		if entries, err := recent(b, name); err == nil && len(entries) > 0 {
			holds, written = holdsOf(entries, l), true
		}
	}
	return newTimeline(holds, time.Now()), written
}

// newTimeline draws the holds of the last ten minutes, or of as long as is known.
func newTimeline(holds []seen.Hold, now time.Time) *timeline {
	t := &timeline{}
	if len(holds) == 0 {
		return t
	}
	slices.SortStableFunc(holds, byStart)
	from := slices.MaxFunc([]time.Time{now.Add(-seen.Remembered), holds[0].From}, time.Time.Compare)
	from = slices.MinFunc([]time.Time{from, now.Add(-20 * time.Second)}, time.Time.Compare)
	t.From, t.To = show.Ago(from), show.Ago(now)
	span := now.Sub(from).Seconds()
	for _, h := range holds {
		to := cmp.Or(h.To, now)
		if to.Before(from) {
			continue
		}
		x := max(0, h.From.Sub(from).Seconds()) / span * 100
		width := max(to.Sub(from).Seconds()/span*100-x, 0.25)
		b := bar{X: percent(x), Width: percent(width), Colour: colour(h.Owner), ends: to,
			Title: fmt.Sprintf("%s, %s, %s", h.Owner, show.Length(to.Sub(h.From)), endText(h))}
		if width > 14 {
			b.Label = h.Owner
		}
		t.place(b, h.From)
	}
	for i := len(holds) - 1; i >= 0 && len(t.Holds) < mostHoldRow; i-- {
		t.Holds = append(t.Holds, rowOf(holds[i], now))
	}
	return t
}

func byStart(a, b seen.Hold) int { return a.From.Compare(b.From) }

// slack is what two bars of one line may overlap by: a journal's times are right to about
// a round trip.
const slack = 100 * time.Millisecond

// place puts a bar into the first lane that has room; what finds none is left out of the
// picture, and stands in the table.
func (t *timeline) place(b bar, from time.Time) {
	for i := range t.Lanes {
		l := &t.Lanes[i]
		if last := (*l)[len(*l)-1]; last.ends.Sub(from) <= slack {
			*l = append(*l, b)
			return
		}
	}
	if len(t.Lanes) < mostLanes {
		t.Lanes = append(t.Lanes, []bar{b})
	}
}

// noEnd is the end of a hold whose end was not recorded.
const noEnd = "no end in the journal"

func rowOf(h seen.Hold, now time.Time) holdRow {
	row := holdRow{Owner: h.Owner, Colour: colour(h.Owner), From: show.Ago(h.From), Lasted: show.Length(cmp.Or(h.To, now).Sub(h.From)), End: endText(h)}
	if h.Undated {
		row.From, row.Lasted = nil, "–"
	}
	if h.End == noEnd {
		row.Lasted = "–" // unknown
	}
	if h.Waited > 0 {
		row.Waited = show.Length(h.Waited)
	}
	return row
}

func endText(h seen.Hold) string {
	if h.To.IsZero() {
		return "holds it now"
	}
	return h.End
}

func percent(x float64) string { return fmt.Sprintf("%.2f%%", x) }

// colour of an owner: the same everywhere.
func colour(owner string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(owner))
	return int(h.Sum32() % 8)
}

// holdsOf makes holds of what a journal says of a name, the newest first. The hold of a
// mutex that goes on is known by what was seen.
func holdsOf(entries []journal.Entry, l *seen.Lock) []seen.Hold {
	var holds []seen.Hold
	open := map[string]int{} // by owner and token, in holds
	key := func(e journal.Entry) string { return fmt.Sprint(e.Token, " ", e.Owner) }
	for _, e := range slices.Backward(entries) {
		switch e.Event {
		case journal.Granted:
			open[key(e)] = len(holds)
			holds = append(holds, seen.Hold{Owner: show.Label(e.Owner), From: e.At, Waited: e.Waited, Shared: e.Kind != holdfast.KindMutex})
		case journal.Released, journal.Lost, journal.Revoked, journal.Stolen:
			end := string(e.Event)
			if because := cmp.Or(e.Reason, string(e.Cause)); because != "" {
				end += ": " + view.Text(because)
			}
			i, known := open[key(e)]
			if !known {
				i = len(holds)
				holds = append(holds, seen.Hold{Owner: show.Label(e.Owner), From: e.At.Add(-e.Held)})
			}
			holds[i].To, holds[i].End = e.At, end
			delete(open, key(e))
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
	// A process that dies writes no end: of a mutex the next grant tells that it came.
	for i := range holds {
		last := i == len(holds)-1
		if h := &holds[i]; h.To.IsZero() && !h.Shared && (!last || now == nil) {
			h.To, h.End = h.From, noEnd
			if !last {
				h.To = holds[i+1].From
			}
		}
	}
	return holds
}
