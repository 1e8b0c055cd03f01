package sim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/test/support/waiting"
)

// travel is what calls that are under way add to an idle time: a lease counts as given
// back before its release is sent, and as given when the answer, or the push, has come. It is
// three steps of at most 2 ms, and one more where a Client asks again.
const travel = 8 * time.Millisecond

// Waits checks L1 of all names, where nothing befell the network: how long each was idle, and
// who was overtaken. lost are the times at which the server lost its data; nobody's order is
// checked if there is any. It returns the longest idle time.
func (w *Watch) Waits(ttl time.Duration, lost ...time.Time) (longest time.Duration) {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	rules := waiting.Promised(ttl, true)
	rules.Base += travel
	for name, n := range w.names {
		all := w.waits(n)
		for _, t := range lost {
			all.Lost = append(all.Lost, int64(w.since(t)))
		}
		breaches, most := all.Idle(rules)
		longest = max(longest, most)
		for _, b := range breaches {
			w.broken("L1: %s is idle from %v for %v while %s waits, since %v, with %d places in front; want %v at most",
				name, time.Duration(b.From), b.Length, b.Call.Client, time.Duration(b.Call.Asked), b.Front, b.Bound)
		}
		if len(lost) > 0 {
			continue
		}
		for _, b := range all.Overtaken(rules) {
			w.broken("L1: %s, who called for %s at %v, was overtaken %d times by %s, who called at %v and was served at %v",
				b.Call.Client, name, time.Duration(b.Call.Asked), b.Count, b.By.Client, time.Duration(b.By.Asked), time.Duration(b.By.Got))
		}
	}
	return longest
}

// waits are the calls for a name as waiting sees them. Times are since the World began.
func (w *Watch) waits(n *watched) *waiting.Name {
	now := int64(w.since(time.Now()))
	at := func(t time.Time) int64 { return int64(w.since(t)) }
	name := &waiting.Name{Capacity: max(1, n.capacity), Frozen: map[string][]waiting.Span{}, To: now}
	for i, h := range n.calls {
		l := h.Process
		weight, _ := h.part.weighs()
		c := &waiting.Call{Client: l.Owner, Place: l.Owner, Weight: weight, Asked: at(h.Called), Until: now, Own: h.own || n.capacity > 0}
		if n.capacity == 0 {
			c.Weight = 1
		}
		if c.Own {
			c.Place = fmt.Sprint(l.Owner, ".", i)
		}
		switch {
		case !h.Got.IsZero():
			c.Until, c.Got, c.Token = at(h.Got), at(h.Got), h.Lease.Token()
			c.Left = w.gaveBack(h, now)
			for _, p := range h.parts {
				less, _ := p.part.weighs()
				c.Smaller = append(c.Smaller, waiting.Smaller{At: at(p.from), Weight: less})
			}
		case !h.Left.IsZero() && !l.dead:
			c.Until = at(h.Left)
		case l.dead:
			c.Until, c.Dead = at(l.died), true
		}
		name.Calls = append(name.Calls, c)
		if name.Frozen[l.Owner] == nil {
			name.Frozen[l.Owner] = []waiting.Span{}
			for _, p := range l.pauses {
				to := waiting.Never
				if !p[1].IsZero() {
					to = at(p[1])
				}
				name.Frozen[l.Owner] = append(name.Frozen[l.Owner], waiting.Span{From: at(p[0]), To: to})
			}
		}
		if l.dead && c.Asked <= at(l.died) { // it may have been given the name, and nobody heard of it
			name.Doubt = append(name.Doubt, w.doubt(n, l, at(l.died))...)
		}
		for _, p := range l.pauses {
			if c.Asked <= at(p[0]) && cmp.Or(c.Left, c.Until) >= at(p[0]) {
				name.Doubt = append(name.Doubt, w.doubt(n, l, at(p[0]))...)
			}
		}
	}
	return name
}

// gaveBack is when a lease had ended in Redis, at the latest.
func (w *Watch) gaveBack(h *Held, now int64) int64 {
	at := func(t time.Time) int64 { return int64(w.since(t)) }
	left, ttl := now, int64(h.Process.TTL)
	switch {
	case h.Process.dead && (h.Left.IsZero() || h.Left.After(h.Process.died)):
		left = at(h.Process.died) + ttl
	case !h.Left.IsZero():
		left = at(h.Left)
	}
	for _, p := range h.Process.pauses {
		if from := at(p[0]); from > at(h.Got) && from < left && (p[1].IsZero() || at(p[1]) > from+ttl) {
			left = from + ttl
		}
	}
	if h.least > 0 {
		left = max(left, at(h.Got)+int64(h.least))
	}
	return left
}

// doubt is when a process that died or stopped at a time may hold a name without a lease that
// says so, unless others held all of it around that time.
func (w *Watch) doubt(n *watched, l *Link, at int64) []waiting.Span {
	const around = int64(10 * time.Millisecond)
	others := int64(0)
	for _, h := range n.all {
		if h.Process != l && int64(w.since(h.Got)) < at-around && w.gaveBack(h, waiting.Never) > at+around {
			others += h.weighs()
		}
	}
	if others > 0 && others >= n.capacity {
		return nil
	}
	return []waiting.Span{{From: at - around, To: at + int64(l.TTL)}}
}
