package seen

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// Remembered is how long waits, figures and names that are gone are remembered.
const Remembered = 10 * time.Minute

const (
	maxEvents = 500
	maxHolds  = 60 // of a name
	maxWaits  = 4096
	recentGap = 15 * time.Second // two pictures with a longer gap say nothing about the time between
)

// Past is what is remembered of the past, bounded in every direction. The sampler's mutex
// guards it.
type Past struct {
	Began   time.Time       // from here on there is no gap
	Written bool            // there is a journal with entries: it counts, and not what polls saw
	Events  []journal.Entry // the oldest first
	Holds   map[string][]Hold
	waits   []wait
	Points  []Point
}

// Hold is one tenure, as it was seen.
type Hold struct {
	Owner   string
	tenure  string // hash
	From    time.Time
	To      time.Time // zero: it goes on
	Waited  time.Duration
	Shared  bool // of a kind that several hold
	Undated bool // of a client of another library, whose start is unknown
	Unended bool // its end was not recorded
	End     string
}

// Lasted is how long the hold lasted, or lasts so far.
func (h Hold) Lasted() time.Duration { return cmp.Or(h.To, time.Now()).Sub(h.From) }

// wait is a wait that ended with a grant.
type wait struct {
	at     time.Time
	lasted time.Duration
}

// Point is one second.
type Point struct {
	Second    int64 // Unix time
	Held      int
	Waiting   int
	Handovers int
	Lost      int
	P50, P99  time.Duration // of the waits that ended in the ten seconds before its end; 0: none did
}

func newPast() *Past { return &Past{Holds: map[string][]Hold{}} }

// see compares two pictures. What changed becomes events, unless a journal has them.
func (p *Past) see(old, now *Picture) {
	tell := !p.Written
	if now.At.Sub(old.At) > recentGap {
		for _, holds := range p.Holds {
			for i := range holds {
				if holds[i].To.IsZero() {
					holds[i].To, holds[i].End = old.At, "not seen"
				}
			}
		}
		old = &Picture{}
	}
	continuous := !old.At.IsZero()
	if !continuous {
		p.Began = now.At
	}
	known := len(p.Events)
	held, waiting := 0, 0
	for _, l := range now.Locks {
		if l.Held() {
			held++
		}
		waiting += l.Waiting
		p.compare(cmp.Or(old.ByName[l.Name], &Lock{State: &admin.State{}}), l, continuous, tell)
	}
	figures := p.point(now.At)
	figures.Held, figures.Waiting = held, waiting
	slices.SortStableFunc(p.Events[min(known, len(p.Events)):], func(a, b journal.Entry) int { return a.At.Compare(b.At) })
	p.forget(now)
}

// point is the figures of the second.
func (p *Past) point(at time.Time) *Point {
	second := at.Unix()
	if n := len(p.Points); n == 0 || p.Points[n-1].Second < second {
		next := Point{Second: second}
		if n > 0 {
			last := &p.Points[n-1]
			next.Held, next.Waiting = last.Held, last.Waiting
			lasted, _ := p.Quantiles(time.Unix(last.Second-9, 0), 0.5, 0.99)
			last.P50, last.P99 = lasted[0], lasted[1]
		}
		p.Points = append(p.Points, next)
	}
	return &p.Points[len(p.Points)-1]
}

// compare notes what happened to a name between two looks. Without continuous, it may
// have been so for long.
func (p *Past) compare(before, now *Lock, continuous, tell bool) {
	was, waited := map[string]admin.Holder{}, map[string]time.Duration{}
	for _, h := range before.Holding() {
		was[h.Hash] = h
	}
	for _, w := range before.Waiters {
		waited[w.Hash] = w.Waited + now.Seen.Sub(before.Seen)
	}
	var fresh []admin.Holder
	for _, h := range now.Holding() {
		if _, already := was[h.Hash]; !already {
			fresh = append(fresh, h)
		}
		delete(was, h.Hash)
	}
	for _, h := range was { // they hold it no more
		p.end(before, now, h, now.Granted(), tell)
	}
	for _, h := range fresh {
		began := now.Seen
		if h.Held > 0 && (!continuous || now.Seen.Add(-h.Held).After(before.Seen)) {
			began = now.Seen.Add(-h.Held)
		}
		lasted, stood := waited[h.Hash]
		if stood {
			lasted = max(0, lasted-now.Seen.Sub(began))
		}
		p.Holds[now.Name] = newest(append(p.Holds[now.Name], Hold{Owner: show.Owner(&h), tenure: h.Hash, From: began, Waited: lasted, Shared: now.Kind != holdfast.KindMutex, Undated: h.Foreign}), maxHolds)
		if continuous && tell {
			p.granted(stood || len(was) > 0, stood, lasted, now.Seen)
			p.add(journal.Entry{At: began, Event: journal.Granted, Name: now.Name, Owner: h.Owner, Waited: lasted})
		}
	}
	for i, w := range now.Waiters {
		if _, already := waited[w.Hash]; continuous && tell && !already && i < 100 {
			p.add(journal.Entry{At: now.Seen.Add(-w.Waited), Event: journal.Asked, Name: now.Name, Owner: w.Owner})
		}
	}
}

// granted counts a grant.
func (p *Past) granted(handedOver, stood bool, lasted time.Duration, at time.Time) {
	if handedOver {
		p.point(at).Handovers++
	}
	if stood {
		p.waits = append(p.waits, wait{at, lasted})
	}
}

// newest drops all but the last n.
func newest[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// end notes that a tenure is over: lost, if its time ran out before it was gone.
func (p *Past) end(before, now *Lock, h admin.Holder, gone time.Time, tell bool) {
	what, at := journal.Released, now.Seen
	if gone.After(before.Seen) {
		at = gone
	}
	// A holder that was not late may have renewed and released since. A survey takes time,
	// so its moment can be later than the moment at which the time remained.
	if expiry := before.Seen.Add(h.Remaining); h.Remaining >= 0 && h.Remaining < EffectiveTTL(&h)/3 && expiry.Before(now.Seen.Add(Interval)) {
		what, at = journal.Lost, expiry
		if tell {
			p.point(now.Seen).Lost++
		}
	}
	var held time.Duration
	holds := p.Holds[before.Name]
	for i := range holds {
		if holds[i].tenure == h.Hash && holds[i].To.IsZero() {
			holds[i].To, holds[i].End = at, string(what)
			held = at.Sub(holds[i].From)
		}
	}
	if tell {
		e := journal.Entry{At: at, Event: what, Name: before.Name, Owner: h.Owner, Held: held}
		if what == journal.Lost {
			e.Cause = holdfast.Expired
		}
		p.add(e)
	}
}

// note takes in what a journal says.
func (p *Past) note(e journal.Entry) {
	p.Written = true
	switch e.Event {
	case journal.Granted:
		p.granted(e.Waited > 0, e.Waited > 0, e.Waited, time.Now())
	case journal.Lost, journal.Stolen:
		p.point(time.Now()).Lost++
	}
	p.add(e)
}

func (p *Past) add(e journal.Entry) { p.Events = append(p.Events, e) }

// forget drops what is too old.
func (p *Past) forget(now *Picture) {
	p.Events = newest(p.Events, maxEvents)
	old := now.At.Add(-Remembered)
	p.waits = newest(slices.DeleteFunc(p.waits, func(w wait) bool { return w.at.Before(old) }), maxWaits)
	p.Points = slices.DeleteFunc(p.Points, func(q Point) bool { return q.Second < old.Unix() })
	for name, holds := range p.Holds {
		last := holds[len(holds)-1]
		if !last.To.IsZero() && last.To.Before(old) {
			delete(p.Holds, name)
		}
	}
}

// Quantiles of waits that ended since, and how many those are.
func (p *Past) Quantiles(since time.Time, qs ...float64) (values []time.Duration, n int) {
	var lasted []time.Duration
	for _, w := range p.waits {
		if w.at.After(since) {
			lasted = append(lasted, w.lasted)
		}
	}
	values = make([]time.Duration, len(qs))
	if len(lasted) == 0 {
		return values, 0
	}
	slices.Sort(lasted)
	for i, q := range qs {
		values[i] = lasted[max(0, int(math.Ceil(q*float64(len(lasted))))-1)]
	}
	return values, len(lasted)
}

// Rate is hand-overs per second, and losses in all, since then.
func (p *Past) Rate(since time.Time) (perSecond float64, lost int) {
	n := 0
	for _, q := range p.Points {
		if q.Second >= since.Unix() {
			n += q.Handovers
			lost += q.Lost
		}
	}
	window := min(time.Since(since).Seconds(), time.Since(p.Began).Seconds())
	return float64(n) / max(window, 1), lost
}
