package check

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/support/waiting"
)

// unseen is what a machine may add to a time without a standstill that a beat or a pulse
// notes: these see 15 and 50 ms.
const unseen = 100 * time.Millisecond

// abreast is how long it may take until a caller has its place in the queue. Where many
// processes start on a busy machine, connections and subscriptions were seen to take 130 ms.
const abreast = 250 * time.Millisecond

// Idle wants that a free name is not idle for longer than L1 says while a living waiter
// with a working connection asks for it. Where servers or the network are hit, that is
// checked from when they are well.
func Idle(h *History, r Rules) []Violation {
	found, _ := Idleness(h, r)
	return found
}

// Idleness is Idle, and the longest idle time, without the standstills in it.
func Idleness(h *History, r Rules) (found []Violation, longest time.Duration) {
	names, rules := h.names(r), r.waits()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		breaches, most := names[name].Idle(rules)
		longest = max(longest, most)
		for _, b := range breaches {
			found = append(found, Violation{"idle", fmt.Sprintf("%s: free from %d for %v with %s waiting since %d, %d places in front of it; want %v at most",
				name, b.From, b.Length, b.Call.Client, b.Call.Asked, b.Front, b.Bound), nil})
		}
	}
	return found, longest
}

// InOrder wants that no waiter is served after callers who came later in another Client,
// beyond what L1 allows; on a quorum, that no other Client is granted a name more than ten
// times during one wait. It checks histories in which servers and network are left alone.
func InOrder(h *History, r Rules) (found []Violation) {
	if !r.Calm || r.Loses {
		return nil
	}
	names, rules := h.names(r), r.waits()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, b := range names[name].Overtaken(rules) {
			until := b.Call.Until
			if b.Call.Got > 0 {
				until = b.Call.Got
			}
			text := fmt.Sprintf("%s: %s, who called at %d and waited for %v, was overtaken by %s, who called at %d and was served at %d",
				name, b.Call.Client, b.Call.Asked, time.Duration(until-b.Call.Asked), b.By.Client, b.By.Asked, b.By.Got)
			if b.Count > 1 {
				text = fmt.Sprintf("%s: %s waited from %d for %v, and %s was granted it %d times meanwhile",
					name, b.Call.Client, b.Call.Asked, time.Duration(until-b.Call.Asked), b.By.Client, b.Count)
			}
			found = append(found, Violation{"overtaken", text, nil})
		}
	}
	return found
}

// waits are the bounds of the topology.
func (r Rules) waits() waiting.Rules {
	w := waiting.Promised(r.TTL, r.Calm)
	if r.Polled {
		w = waiting.PromisedByQuorum(r.TTL)
	}
	w.Base += unseen
	w.Abreast = abreast
	if !r.Calm { // what a lost request has left behind lasts for a ttl more
		w.Lost = r.TTL + r.Slack + r.Windows
	}
	return w
}

// names are the calls of a history by name.
func (h *History) names(r Rules) map[string]*waiting.Name {
	names := map[string]*waiting.Name{}
	frozen, still := map[string][]waiting.Span{}, h.still()
	for _, l := range h.Asks {
		n := names[l.Name]
		if n == nil {
			n = &waiting.Name{Capacity: l.Capacity, Still: still, Frozen: frozen, To: h.end}
			if !r.Calm {
				n.From, n.Lost = h.healed, []int64{h.healed}
			} else if r.Loses {
				n.Lost = h.forgot
			}
			names[l.Name] = n
		}
		c := h.call(l, r)
		n.Calls = append(n.Calls, c)
		frozen[c.Client] = spansOf(h.frozen[l.Process])
		switch l.Why {
		case "", history.Cancelled, history.Held, history.Expired, history.Taken, history.Gone:
		default: // it may have been granted, and nobody heard of it
			if l.Granted == 0 {
				n.Doubt = append(n.Doubt, waiting.Span{From: l.Answered, To: l.Answered + int64(r.TTL)})
			}
		}
	}
	for name, n := range names {
		if !r.Calm && h.healed == 0 {
			delete(names, name)
			continue
		}
		n.Doubt = append(n.Doubt, h.doubts(name, r)...)
	}
	return names
}

// call is an attempt as waiting sees it.
func (h *History) call(l *Lease, r Rules) *waiting.Call {
	c := &waiting.Call{
		Client: fmt.Sprintf("%s/%d", l.Process, l.Client), Weight: l.Weight, Asked: l.Asked, Until: l.Answered,
		Got: l.Granted, Left: h.left(l, r), Token: l.Token, Dedicated: l.Kind == history.Multi,
		Own: l.Kind == history.Election || l.Kind == history.Semaphore || l.Kind == history.RWMutex,
	}
	c.Place = c.Client
	if c.Own {
		c.Place = fmt.Sprint(c.Client, ".", l.Attempt)
	}
	if gone := h.crashed[l.Process]; l.Answered == 0 && gone > 0 {
		c.Until, c.Dead = gone, true
	} else if l.Answered == 0 {
		c.Until = h.end
	}
	return c
}

// left is when a lease had ended in Redis, at the latest.
func (h *History) left(l *Lease, r Rules) int64 {
	if l.Granted == 0 {
		return 0
	}
	ttl := int64(r.TTL)
	left := l.Released
	switch gone := h.crashed[l.Process]; {
	case left > 0 && l.Result != history.OK && l.Over == 0:
		left = l.Release + ttl
	case left == 0 && gone > 0:
		left = max(l.Deadline, gone+ttl)
	case left == 0:
		left = h.end
	}
	for _, f := range h.frozen[l.Process] { // it can't prolong it meanwhile
		if f.from > l.Granted && f.from < left && f.to > f.from+ttl {
			left = min(left, max(l.Granted, f.from+ttl))
		}
	}
	return left
}

// doubts are when a process that was killed or stopped may have held a name though none of
// its callers knew: from then on for a ttl, unless another held it just then.
func (h *History) doubts(name string, r Rules) (all []waiting.Span) {
	const recent, around = int64(300 * time.Millisecond), int64(20 * time.Millisecond)
	gone := map[string][]int64{}
	for process, t := range h.crashed {
		gone[process] = append(gone[process], t)
	}
	for process, spans := range h.frozen {
		for _, f := range spans {
			gone[process] = append(gone[process], f.from)
		}
	}
	for process, times := range gone {
		for _, t := range times {
			touched, other := false, false
			for _, l := range h.Asks {
				if l.Name != name {
					continue
				}
				if l.Process == process {
					last := max(l.Answered, l.Released)
					touched = touched || l.Asked <= t && (l.Answered == 0 || l.Granted > 0 && l.Released == 0 || last > t-recent-int64(r.TTL)/2)
				} else {
					other = other || l.Capacity == 1 && l.Granted > 0 && l.Granted < t-around && min(h.left(l, r), l.Until()) > t+around
				}
			}
			if touched && !other {
				all = append(all, waiting.Span{From: t - around, To: t + int64(r.TTL)})
			}
		}
	}
	return all
}

// still are the standstills that nobody made: what a process says of itself when it goes on
// after it was stopped is none.
func (h *History) still() []waiting.Span {
	var all []span
	for _, p := range h.stalls {
		made := slices.ContainsFunc(h.frozen[p.process], func(f span) bool { return p.from <= f.to && p.to >= f.from })
		if !made {
			all = append(all, p.span)
		}
	}
	return spansOf(all)
}

func spansOf(spans []span) (all []waiting.Span) {
	for _, p := range spans {
		all = append(all, waiting.Span{From: p.from, To: p.to})
	}
	slices.SortFunc(all, func(a, b waiting.Span) int { return int(a.From - b.From) })
	return all
}
