package seen

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// Remembered is how long waits, figures and names that are gone are remembered.
const Remembered = 10 * time.Minute

const (
	maxEvents = 500
	maxHolds  = 60 // of a name
	allHolds  = 100_000
	maxWaits  = 4096
	recentGap = 15 * time.Second // two pictures with a longer gap say nothing about the time between
)

// Past is the remembered past. All its lists are bounded. The Past of a Picture never changes;
// the sampler's mutex protects the sampler's own.
type Past struct {
	Began   time.Time       // from here on there is no gap
	Written bool            // there is a journal with entries: it counts, and not what polls saw
	Reading bool            // the last ten minutes of the journal are being read: they are not counted yet
	Events  []journal.Entry // the oldest first
	Holds   map[string][]Hold
	waits   []wait
	Points  []Point // the oldest first; a second in which nothing happened may have none
	changed int64   // the oldest second with a new wait since the quantiles were made
}

// Hold is one tenure, as it was seen.
type Hold struct {
	Owner   string
	tenure  string // hash
	From    time.Time
	To      time.Time // zero: it goes on
	Waited  time.Duration
	Shared  bool // of a kind that several hold
	Undated bool // its start is unknown: of a client of another library, or of several holders from before the first look
	Unended bool // its end was not recorded
	End     string
}

// Lasted is how long the hold lasted.
func (h Hold) Lasted() time.Duration { return h.To.Sub(h.From) }

// HeldSince is when a tenure that goes on was first seen to hold a name. It returns false
// if the tenure may have held it before.
func (p *Past) HeldSince(name, tenure string) (time.Time, bool) {
	for _, h := range p.Holds[name] {
		if h.tenure == tenure && h.To.IsZero() && !h.Undated {
			return h.From, true
		}
	}
	return time.Time{}, false
}

// wait is a wait that ended with a grant.
type wait struct {
	at     time.Time
	lasted time.Duration
}

// Point is one second.
type Point struct {
	Second    int64 // Unix time
	Polled    bool  // Held and Waiting are known
	Held      int
	Waiting   int
	Handovers int
	Lost      int
	P50, P99  time.Duration // of the waits that ended in the ten seconds before its end; 0: none did
}

func newPast() *Past { return &Past{Holds: map[string][]Hold{}, changed: math.MaxInt64} }

// still returns a Past that does not change any more. The holds of a name are replaced when they
// change, so that they need no copy here.
func (p *Past) still() Past {
	q := *p
	q.Events, q.waits, q.Points, q.Holds = slices.Clone(p.Events), slices.Clone(p.waits), slices.Clone(p.Points), maps.Clone(p.Holds)
	return q
}

// see compares two pictures. What changed becomes events, unless a journal has them.
func (p *Past) see(old, now *Picture) {
	tell := !p.Written
	if now.At.Sub(old.At) > recentGap {
		for name := range p.Holds {
			p.over(name, old.At, notSeen, func(Hold) bool { return true })
		}
		old = &Picture{}
	}
	for _, l := range old.Locks {
		if next, listed := now.ByName[l.Name]; !listed || next.Refused {
			p.over(l.Name, now.At, notSeen, func(Hold) bool { return true })
		}
	}
	continuous := !old.At.IsZero()
	if !continuous {
		p.Began = now.At
	}
	known := len(p.Events)
	held, waiting := 0, 0
	for _, l := range now.Locks {
		if l.Refused {
			continue
		}
		if l.Held() {
			held++
		}
		waiting += l.Waiting
		before := cmp.Or(old.ByName[l.Name], &Lock{State: &admin.State{}})
		p.compare(before, l, continuous && !before.Refused, tell)
	}
	figures := p.point(now.At)
	figures.Polled, figures.Held, figures.Waiting = true, held, waiting
	p.measure()
	slices.SortStableFunc(p.Events[min(known, len(p.Events)):], func(a, b journal.Entry) int { return a.At.Compare(b.At) })
	p.forget(now)
}

// point is the figures of the second.
func (p *Past) point(at time.Time) *Point {
	second := at.Unix()
	i, known := slices.BinarySearchFunc(p.Points, second, func(q Point, second int64) int { return cmp.Compare(q.Second, second) })
	if !known {
		next := Point{Second: second}
		if i > 0 {
			last := &p.Points[i-1]
			next.Polled, next.Held, next.Waiting = last.Polled, last.Held, last.Waiting
		}
		p.Points = slices.Insert(p.Points, i, next)
	}
	p.changed = min(p.changed, second)
	return &p.Points[i]
}

// measure brings the quantiles of the points up to date.
func (p *Past) measure() {
	for i := range p.Points {
		if q := &p.Points[i]; q.Second >= p.changed {
			lasted, _ := p.quantiles(time.Unix(q.Second-9, 0), time.Unix(q.Second+1, 0), 0.5, 0.99)
			q.P50, q.P99 = lasted[0], lasted[1]
		}
	}
	p.changed = math.MaxInt64
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
		if !h.Foreign && p.reopened(now.Name, h.Hash) { // a foreign value may be that of many
			continue
		}
		p.Holds[now.Name] = newest(append(p.Holds[now.Name], Hold{Owner: show.Owner(&h), tenure: h.Hash, From: began, Waited: lasted, Shared: now.Kind != holdfast.KindMutex, Undated: h.Foreign || h.Held == 0 && !continuous}), max(4, min(maxHolds, allHolds/max(1, len(p.Holds)))))
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

// reopened lets a hold go on that no poll saw for a while.
func (p *Past) reopened(name, tenure string) bool {
	holds := slices.Clone(p.Holds[name])
	at := slices.IndexFunc(holds, func(h Hold) bool { return h.tenure == tenure && h.End == notSeen })
	if at < 0 {
		return false
	}
	holds[at].To, holds[at].End = time.Time{}, ""
	p.Holds[name] = holds
	return true
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

// notSeen is the End of a hold that was gone, or could not be read, at the next poll.
const notSeen = "not seen"

// over ends the holds of a name that are meant and go on.
func (p *Past) over(name string, at time.Time, how string, meant func(Hold) bool) {
	holds := slices.Clone(p.Holds[name])
	for i := range holds {
		if holds[i].To.IsZero() && meant(holds[i]) {
			holds[i].To, holds[i].End = at, how
		}
	}
	if len(holds) > 0 {
		p.Holds[name] = holds
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
	if expiry := before.Seen.Add(h.Remaining); diagnose.RenewalOf(before.State, &h).Late != "" && expiry.Before(now.Seen.Add(Interval)) {
		what, at = journal.Lost, expiry
		if tell {
			p.point(expiry).Lost++
		}
	}
	var held time.Duration
	p.over(before.Name, at, string(what), func(hold Hold) bool {
		if hold.tenure != h.Hash {
			return false
		}
		held = at.Sub(hold.From)
		return true
	})
	if tell {
		e := journal.Entry{At: at, Event: what, Name: before.Name, Owner: h.Owner, Held: held}
		if what == journal.Lost {
			e.Cause = holdfast.Expired
		}
		p.add(e)
	}
}

// read begins to take in a journal from ten minutes ago. It counts from here on, and what
// polls saw is dropped.
func (p *Past) read() {
	p.Written, p.Reading, p.Events, p.waits = true, true, nil, nil
	for i := range p.Points {
		p.Points[i].Handovers, p.Points[i].Lost = 0, 0
	}
	for now, at := time.Now(), Since(Remembered); !at.After(now); at = at.Add(time.Second) {
		p.point(at) // nothing happened, if the journal does not say more
	}
}

// note takes in an entry of a journal, by its time. An entry of the future has a time that
// is wrong.
func (p *Past) note(e journal.Entry) {
	if age := time.Since(e.At); age > Remembered || age < -time.Minute {
		return
	}
	switch e.Event {
	case journal.Granted:
		p.granted(e.Waited > 0, e.Waited > 0, e.Waited, e.At)
	case journal.Lost:
		p.point(e.At).Lost++
	}
	p.add(e)
}

func (p *Past) add(e journal.Entry) {
	if p.Events = append(p.Events, e); len(p.Events) >= 2*maxEvents {
		p.cut()
	}
}

// cut drops old events. Losses are kept, because they are few and counted.
func (p *Past) cut() {
	more := len(p.Events) - maxEvents
	p.Events = newest(slices.DeleteFunc(p.Events, func(e journal.Entry) bool {
		more--
		return more >= 0 && (e.Event != journal.Lost || time.Since(e.At) > Remembered)
	}), 2*maxEvents)
}

// forget drops what is too old.
func (p *Past) forget(now *Picture) {
	p.cut()
	old := now.At.Add(-Remembered)
	p.waits = newest(slices.DeleteFunc(p.waits, func(w wait) bool { return w.at.Before(old) }), maxWaits)
	p.Points = slices.DeleteFunc(p.Points, func(q Point) bool { return q.Second < old.Unix() })
	p.forgetNames(old)
}

// forgetNames drops names whose last hold ended before old, and of too many names those whose last
// hold ended first.
func (p *Past) forgetNames(old time.Time) {
	type gone struct {
		name string
		at   time.Time
	}
	var over []gone
	for name, holds := range p.Holds {
		var last time.Time // zero: somebody holds it
		if !slices.ContainsFunc(holds, func(h Hold) bool { return h.To.IsZero() }) {
			last = slices.MaxFunc(holds, func(a, b Hold) int { return a.To.Compare(b.To) }).To
		}
		switch {
		case last.IsZero():
		case last.Before(old):
			delete(p.Holds, name)
		default:
			over = append(over, gone{name, last})
		}
	}
	if more := len(p.Holds) - view.MaxNames; more > 0 {
		slices.SortFunc(over, func(a, b gone) int { return a.at.Compare(b.at) })
		for _, g := range over[:min(more, len(over))] {
			delete(p.Holds, g.name)
		}
	}
}

// Since is when the last seconds began.
func Since(span time.Duration) time.Time { return time.Now().Add(-span).Truncate(time.Second) }

// Quantiles of waits that ended since, and how many those are.
func (p *Past) Quantiles(since time.Time, qs ...float64) (values []time.Duration, n int) {
	return p.quantiles(since, time.Now().Add(time.Hour), qs...)
}

func (p *Past) quantiles(since, until time.Time, qs ...float64) (values []time.Duration, n int) {
	var lasted []time.Duration
	for _, w := range p.waits {
		if !w.at.Before(since) && w.at.Before(until) {
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

// Rate is hand-overs per second, and losses in all, from one moment to another.
func (p *Past) Rate(since, now time.Time) (perSecond float64, lost int) {
	n := 0
	for _, q := range p.Points {
		if q.Second >= since.Unix() {
			n += q.Handovers
			lost += q.Lost
		}
	}
	window := now.Sub(since).Seconds()
	if !p.Written {
		window = min(window, now.Sub(p.Began).Seconds())
	}
	return float64(n) / max(window, 1), lost
}
