package dashboard

import (
	"math"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
)

const (
	remembered = 10 * time.Minute // of waits, figures and names that are gone
	mostEvents = 500
	mostHolds  = 60 // of a name
	mostWaits  = 4096
	recentGap  = 15 * time.Second // two pictures farther apart than this tell nothing of what was between
)

// past is what is remembered of the past, bounded in every direction. The sampler's
// mutex guards it.
type past struct {
	began   time.Time       // of what is told without a gap
	written bool            // there is a journal, and somebody writes it: that counts, and not what is seen
	events  []journal.Entry // the oldest first
	holds   map[string][]hold
	waits   []wait
	points  []point
}

// hold is one tenure, as it was seen.
type hold struct {
	owner   string
	tenure  string // hash
	from    time.Time
	to      time.Time // zero: it goes on
	waited  time.Duration
	shared  bool // of a kind that several hold
	undated bool // of a client of another library, whose start is unknown
	end     string
}

// wait is a wait that ended with a grant.
type wait struct {
	at     time.Time
	lasted time.Duration
}

// point is one second.
type point struct {
	second    int64 // Unix time
	held      int
	waiting   int
	handovers int
	lost      int
	p50, p99  time.Duration // of the waits that ended in the ten seconds before its end; 0: none did
}

func newPast() *past { return &past{holds: map[string][]hold{}} }

// see compares two pictures. What changed becomes events, unless a journal has them.
func (p *past) see(old, now *picture) {
	tell := !p.written
	if old != nil && now.at.Sub(old.at) > recentGap {
		for name, holds := range p.holds {
			for i := range holds {
				if holds[i].to.IsZero() {
					holds[i].to, holds[i].end = old.at, "not seen"
				}
			}
			p.holds[name] = holds
		}
		old = nil
	}
	if old == nil || old.at.IsZero() {
		p.began = now.at
	}
	known := len(p.events)
	held, waiting := 0, 0
	for _, l := range now.locks {
		if l.held() {
			held++
		}
		waiting += l.Waiting
		var before *lock
		if old != nil {
			before = old.byName[l.Name]
		}
		if before != l {
			p.compare(before, l, old != nil, tell)
		}
	}
	figures := p.point(now.at)
	figures.held, figures.waiting = held, waiting
	slices.SortStableFunc(p.events[min(known, len(p.events)):], func(a, b journal.Entry) int { return a.At.Compare(b.At) })
	p.forget(now)
}

// point is the figures of the second.
func (p *past) point(at time.Time) *point {
	second := at.Unix()
	if n := len(p.points); n == 0 || p.points[n-1].second < second {
		next := point{second: second}
		if n > 0 {
			last := &p.points[n-1]
			next.held, next.waiting = last.held, last.waiting
			lasted, _ := p.quantiles(time.Unix(last.second-9, 0), 0.5, 0.99)
			last.p50, last.p99 = lasted[0], lasted[1]
		}
		p.points = append(p.points, next)
	}
	return &p.points[len(p.points)-1]
}

// compare notes what happened to a name between two looks. Without continuous, it may
// have been so for long.
func (p *past) compare(before, now *lock, continuous, tell bool) {
	was, waited := map[string]holdfast.Holder{}, map[string]time.Duration{}
	if before != nil {
		for _, h := range before.holders() {
			was[h.Hash] = h
		}
		for _, w := range before.Waiters {
			waited[w.Hash] = w.Waited + now.seen.Sub(before.seen)
		}
	}
	ended := 0
	has := map[string]bool{}
	for _, h := range now.holders() {
		has[h.Hash] = true
	}
	for hash, h := range was {
		if !has[hash] {
			ended++
			p.end(before, now, h, given(now), tell)
		}
	}
	for _, h := range now.holders() {
		if _, already := was[h.Hash]; already {
			continue
		}
		began := now.seen
		if h.Held > 0 && (!continuous || now.seen.Add(-h.Held).After(lookedAt(before))) {
			began = now.seen.Add(-h.Held)
		}
		lasted, stood := waited[h.Hash]
		if stood {
			lasted = max(0, lasted-now.seen.Sub(began))
		}
		p.begin(now.Name, hold{owner: ownerName(&h), tenure: h.Hash, from: began, waited: lasted, shared: now.Kind != holdfast.KindMutex, undated: h.Foreign})
		if continuous && tell {
			p.granted(stood || ended > 0, stood, lasted, now.seen)
			p.add(journal.Entry{At: began, Event: journal.Granted, Name: now.Name, Owner: h.Owner, Waited: lasted})
		}
	}
	if continuous && tell {
		p.asked(now, waited)
	}
}

// granted counts a grant.
func (p *past) granted(handedOver, stood bool, lasted time.Duration, at time.Time) {
	if handedOver {
		p.point(at).handovers++
	}
	if stood {
		p.waits = append(p.waits, wait{at, lasted})
	}
}

func lookedAt(l *lock) time.Time {
	if l == nil {
		return time.Time{}
	}
	return l.seen
}

// asked tells of those who stand in line and did not before.
func (p *past) asked(now *lock, before map[string]time.Duration) {
	for i, w := range now.Waiters {
		if _, already := before[w.Hash]; !already && i < 100 {
			p.add(journal.Entry{At: now.seen.Add(-w.Waited), Event: journal.Asked, Name: now.Name, Owner: w.Owner})
		}
	}
}

func (p *past) begin(name string, h hold) {
	holds := p.holds[name]
	holds = append(holds, h)
	if len(holds) > mostHolds {
		holds = slices.Delete(holds, 0, len(holds)-mostHolds)
	}
	p.holds[name] = holds
}

// given is when a mutex was granted to who holds it now; else when that was seen.
func given(now *lock) time.Time {
	if h := now.Holder; h != nil && now.Kind == holdfast.KindMutex && h.Held > 0 {
		return now.seen.Add(-h.Held)
	}
	return now.seen
}

// end notes that a tenure is over: lost, if its time ran out before it was gone.
func (p *past) end(before, now *lock, h holdfast.Holder, gone time.Time, tell bool) {
	what, at := journal.Released, now.seen
	if gone.After(before.seen) {
		at = gone
	}
	// Who was not late may have renewed and released since. A look takes its time, so
	// its moment can lie behind that of which it says what remained.
	if expiry := before.seen.Add(h.Remaining); h.Remaining >= 0 && h.Remaining < life(&h)/3 && expiry.Before(now.seen.Add(interval)) {
		what, at = journal.Lost, expiry
		if tell {
			p.point(now.seen).lost++
		}
	}
	var held time.Duration
	holds := p.holds[before.Name]
	for i := range holds {
		if holds[i].tenure == h.Hash && holds[i].to.IsZero() {
			holds[i].to, holds[i].end = at, string(what)
			held = at.Sub(holds[i].from)
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
func (p *past) note(e journal.Entry) {
	p.written = true
	switch e.Event {
	case journal.Granted:
		p.granted(e.Waited > 0, e.Waited > 0, e.Waited, time.Now())
	case journal.Lost, journal.Stolen:
		p.point(time.Now()).lost++
	}
	p.add(e)
}

func (p *past) add(e journal.Entry) { p.events = append(p.events, e) }

// forget drops what is too old.
func (p *past) forget(now *picture) {
	if len(p.events) > mostEvents {
		p.events = slices.Delete(p.events, 0, len(p.events)-mostEvents)
	}
	old := now.at.Add(-remembered)
	p.waits = slices.DeleteFunc(p.waits, func(w wait) bool { return w.at.Before(old) })
	if len(p.waits) > mostWaits {
		p.waits = slices.Delete(p.waits, 0, len(p.waits)-mostWaits)
	}
	p.points = slices.DeleteFunc(p.points, func(q point) bool { return q.second < old.Unix() })
	for name, holds := range p.holds {
		last := holds[len(holds)-1]
		if !last.to.IsZero() && last.to.Before(old) {
			delete(p.holds, name)
		}
	}
}

// quantile of waits that ended since, and how many those are.
func (p *past) quantiles(since time.Time, qs ...float64) (values []time.Duration, n int) {
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

// rate is hand-overs per second, and losses in all, since then.
func (p *past) rate(since time.Time) (perSecond float64, lost int) {
	n := 0
	for _, q := range p.points {
		if q.second >= since.Unix() {
			n += q.handovers
			lost += q.lost
		}
	}
	window := time.Since(since).Seconds()
	if seen := time.Since(p.began).Seconds(); seen < window {
		window = seen
	}
	return float64(n) / max(window, 1), lost
}
