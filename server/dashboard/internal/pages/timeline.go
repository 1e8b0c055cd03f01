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

// timeline shows when each holder had a name, until the moment of the picture.
type timeline struct {
	From, To *show.Stamp
	Lanes    [][]bar     // the bars of a lane do not overlap
	Holds    []seen.Hold // the newest first
	Written  bool        // a journal has this name
	Newest   time.Time   // its newest entry
	Missing  bool        // it has no entry of the lease that is held
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

// timelineOf is the journal's, or without it what was seen. The lock that was seen decides what is
// held: the journal is read at another time, and writers write to it some time later.
func timelineOf(v *visit, name string, l *seen.Lock) timeline {
	p := v.Picture
	t, at, holds := timeline{}, p.At, slices.Clone(p.Past.Holds[name])
	if l != nil {
		at = l.Seen
		for i := range holds { // that go on: the newest look knows best since when
			if h := &holds[i]; h.To.IsZero() && !h.Shared && !h.Undated && h.From.Sub(l.Granted()).Abs() <= slack {
				h.From = l.Granted()
			}
		}
	}
	if v.Journal != nil {
		if read, err := recent(v.Board, wish{name: name}); err == nil && len(read.all) > 0 {
			entries := until(read.all, at, p.Ahead)
			holds, t.Written = holdsOf(entries), true
			if len(entries) > 0 {
				t.Newest = newestOf(entries)
			}
			holds, t.Missing = settle(holds, l, at)
		}
	}
	t.draw(holds, at)
	return t
}

// newestOf is the time of the newest entry. Entries are in the order of writing.
func newestOf(entries []journal.Entry) time.Time {
	return slices.MaxFunc(entries, func(a, b journal.Entry) int { return a.At.Compare(b.At) }).At
}

// until are the entries of a journal before a moment of our clock, with times by our clock.
func until(entries []journal.Entry, at time.Time, ahead time.Duration) (before []journal.Entry) {
	for _, e := range entries {
		if e.At = e.At.Add(ahead); !e.At.After(at) {
			before = append(before, e)
		}
	}
	return before
}

// draw draws the holds of the last ten minutes, or of as long as is known.
func (t *timeline) draw(holds []seen.Hold, now time.Time) {
	if len(holds) == 0 {
		return
	}
	slices.SortStableFunc(holds, byStart)
	from := slices.MaxFunc([]time.Time{now.Add(-seen.Remembered), holds[0].From}, time.Time.Compare)
	from = slices.MinFunc([]time.Time{from, now.Add(-20 * time.Second)}, time.Time.Compare)
	t.From, t.To = show.Ago(from), show.Ago(now)
	span := now.Sub(from).Seconds()
	for i := range holds {
		h := &holds[i]
		if h.To.IsZero() {
			h.To, h.End = now, "holds it now"
		}
		if h.To.Before(from) {
			continue
		}
		x := max(0, h.From.Sub(from).Seconds()) / span * 100
		width := max(h.To.Sub(from).Seconds()/span*100-x, 0.25)
		t.place(bar{*h, x, width})
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
func (t *timeline) place(b bar) {
	for i, lane := range t.Lanes {
		if last := lane[len(lane)-1]; last.To.Sub(b.From) <= slack {
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

// holdsOf makes holds of what a journal says of a name, the newest first.
func holdsOf(entries []journal.Entry) []seen.Hold {
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
	return holds
}

// settle makes the holds of a journal agree with what was seen at a moment, in which the journal
// may be behind: exactly what was held then goes on. It reports whether a holder that was seen
// is missing in the journal.
func settle(holds []seen.Hold, l *seen.Lock, at time.Time) (settled []seen.Hold, missing bool) {
	if l != nil && l.Refused { // nothing was seen
		return holds, false
	}
	var seenHolds []seen.Hold
	if l != nil {
		for _, h := range l.Holding() {
			began := at
			if l.Kind == holdfast.KindMutex {
				began = l.Granted()
			}
			now := seen.Hold{Owner: show.Owner(&h), From: began, Undated: h.Held == 0, Shared: l.Kind != holdfast.KindMutex}
			if h.Foreign { // no journal has it
				holds = append(holds, now)
				continue
			}
			seenHolds = append(seenHolds, now)
		}
	}
	goesOn := make([]bool, len(holds))
	for _, same := range []func(a, b *seen.Hold) bool{
		func(a, b *seen.Hold) bool { return a.Owner == b.Owner },
		func(*seen.Hold, *seen.Hold) bool { return true }, // a journal's writer may have another label
	} {
		seenHolds = slices.DeleteFunc(seenHolds, func(now seen.Hold) bool {
			for i := range slices.Backward(holds) {
				h := &holds[i]
				if goesOn[i] || !same(h, &now) || !couldBe(h, &now, at) {
					continue
				}
				if goesOn[i] = true; h.From.Sub(now.From).Abs() <= slack {
					h.From = now.From
				}
				h.Owner, h.To = now.Owner, time.Time{}
				return true
			}
			return false
		})
	}
	for i := range holds {
		if h := &holds[i]; h.To.IsZero() && !goesOn[i] { // a process that dies writes no end
			h.To, h.End, h.Unended = h.From, "no end in the journal", true
			if next := i + 1; !h.Shared && next < len(holds) {
				h.To = holds[next].From
			}
		}
	}
	holds = append(holds, seenHolds[:min(len(seenHolds), maxHolds)]...)
	slices.SortStableFunc(holds, byStart)
	return holds, len(seenHolds) > 0
}

// couldBe reports whether a hold of the journal can be one that was seen: it has no end, or
// ended at that moment; and if it is known since when the name was held, it began then or later,
// because the callers of one process take turns.
func couldBe(h, now *seen.Hold, at time.Time) bool {
	if h.Shared || now.Undated {
		return h.Shared == now.Shared && h.To.IsZero()
	}
	return !h.From.Before(now.From.Add(-slack)) && (h.To.IsZero() || at.Sub(h.To) <= slack)
}
