package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Punctual is how far behind its deadline a context may end.
const Punctual = 20 * time.Millisecond

// undisturbed is how long before and after the end of a lease its process must have
// run for the end to count. One of its threads may stand still while that which looks
// after it runs, but on a machine that is so busy this one does, too, now and then.
const undisturbed = 500 * time.Millisecond

// Contexts counts the leases whose context ended by their deadline while their
// process ran, and those of them that were late by more than Punctual: S3.
func Contexts(h *History) (ended int, late []*Lease) {
	for _, l := range h.Leases {
		if l.Over == 0 || l.Why != history.Expired {
			continue
		}
		if h.paused(l.Process, l.Deadline-int64(undisturbed), l.Over+int64(undisturbed)) {
			continue
		}
		ended++
		if l.Over > l.Deadline+int64(Punctual) {
			late = append(late, l)
		}
	}
	return ended, late
}

// together is how long a thread that stands still makes contexts late.
const together = 100 * time.Millisecond

// Moments counts when contexts were late: those of one process that end together are one
// case, for what kept one of them kept all.
func Moments(late []*Lease) (n int) {
	last := map[string]int64{}
	for _, l := range slices.SortedFunc(slices.Values(late), func(a, b *Lease) int { return cmp.Compare(a.Over, b.Over) }) {
		if at, seen := last[l.Process]; !seen || l.Over-at > int64(together) {
			n++
			last[l.Process] = l.Over
		}
	}
	return n
}

// Slow reports whether a process or a server did not run for a moment once all faults
// were over: times that are no matter of safety are not checked then.
func Slow(h *History) bool { return h.slow(h.healed, 100*time.Millisecond) }

// Waiting wants that nobody waits for long for a name that nobody holds, once all faults
// are over. The limit is what is left of a ttl and a tenth of a second.
// (Rules.Slack is added.)
func Waiting(h *History, r Rules) []Violation {
	if Slow(h) {
		return nil
	}
	bound := int64(r.TTL + 100*time.Millisecond + r.Slack)
	held, granted, waited := map[string][]span{}, map[string][]span{}, map[string][]span{}
	severally := map[multi][]string{} // attempts that wait for all of these
	until := map[multi]span{}
	for _, l := range h.Asks {
		gone := h.crashed[l.Process]
		end := func(t int64) int64 {
			if t == 0 {
				t = h.end
			}
			if gone > 0 {
				t = min(t, gone)
			}
			return t
		}
		if l.Answered == 0 || l.Granted > 0 || l.Why == history.Cancelled {
			wait := span{max(l.Asked, h.healed), end(l.Answered)}
			if l.Kind == history.Multi {
				m := multi{l.Process, l.Asked}
				severally[m], until[m] = append(severally[m], l.Name), wait
			} else {
				waited[l.Name] = append(waited[l.Name], wait)
			}
		}
		if l.Kind == history.Multi { // it may have this name, and wait for the next
			held[l.Name] = append(held[l.Name], span{l.Asked, end(l.Answered)})
		}
		if l.Granted > 0 {
			granted[l.Name] = append(granted[l.Name], span{l.Granted, end(l.Released)})
		}
	}
	var found []Violation
	idleIn := func(name string, busy []span, waits ...span) {
		for _, idle := range gaps(busy, h.healed, h.end, bound) {
			i := slices.IndexFunc(waits, func(w span) bool { return min(w.to, idle.to)-max(w.from, idle.from) > bound })
			if i >= 0 {
				found = append(found, Violation{"waiting", fmt.Sprintf("%s: nobody holds it from %d for %v, and somebody waits from %d to %d",
					name, idle.from, time.Duration(idle.to-idle.from), waits[i].from, waits[i].to), nil})
			}
		}
	}
	for name, waits := range waited {
		idleIn(name, slices.Concat(held[name], granted[name]), waits...)
	}
	for m, names := range severally { // those that wait for several never stop each other: all take them in one order
		var busy []span
		for _, name := range names {
			busy = append(busy, granted[name]...)
		}
		idleIn(strings.Join(names, ", "), busy, until[m])
	}
	return found
}

// multi is one attempt at several names.
type multi struct {
	process string
	asked   int64
}

// gaps are the times from from to to, longer than least, in no span.
func gaps(spans []span, from, to, least int64) (free []span) {
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	for _, s := range append(spans, span{to, to}) {
		if s.from-from > least {
			free = append(free, span{from, s.from})
		}
		from = max(from, s.to)
	}
	return free
}

// Leftovers wants that at the end no key outlives its ttl: L2. Nothing may stand in
// Redis of a process that ended well, so that Close returned nil.
func Leftovers(h *History, r Rules) []Violation {
	var found []Violation
	for _, e := range h.Events {
		if e.What != history.Left {
			continue
		}
		life := r.TTL
		if strings.HasPrefix(e.Name, "holdfast/holders:") {
			life += 30 * time.Second // of the key, where somebody waited; its entries live for a ttl
		}
		dead := h.crashed[e.Process] > 0 || h.unclean[e.Process] || r.Loses // what was taken away can be back
		dead = dead || r.Replicas && e.Detail == "waits"                    // only what is held waits for replicas
		dead = dead || r.Lags && e.Detail == "held"
		switch {
		case e.Deadline == 0:
			found = append(found, Violation{"leftovers", e.Name + " has no expiry", []history.Event{e}})
		case !dead:
			found = append(found, Violation{"leftovers", fmt.Sprintf("%s is left by %s, which ended well: %s", e.Name, e.Process, e.Detail), []history.Event{e}})
		case e.Detail == "held" && e.Deadline-e.T > int64(life) && !r.Lags:
			found = append(found, Violation{"leftovers", fmt.Sprintf("%s of %s lives for %v, longer than a ttl", e.Name, e.Process, time.Duration(e.Deadline-e.T)), []history.Event{e}})
		}
	}
	return found
}
