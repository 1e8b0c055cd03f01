package check

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Exclusion wants that never more is held of a name than there is, by the view of
// the holders themselves: S1.
func Exclusion(h *History, r Rules) []Violation {
	if r.Loses {
		return nil
	}
	var found []Violation
	for name, leases := range h.byName() {
		var held []*Lease
		for _, l := range leases {
			held = slices.DeleteFunc(held, func(earlier *Lease) bool { return earlier.Until() <= l.Granted })
			if l.Until() <= l.Granted {
				continue // over when it came
			}
			used := l.Weight
			for _, earlier := range held {
				used += earlier.Weight
			}
			if used > l.Capacity {
				v := Violation{Checker: "exclusion", Text: fmt.Sprintf("%s: %v beside", name, l), Events: slices.Clone(l.about)}
				for _, earlier := range held {
					v.Text += fmt.Sprintf(" %v;", earlier)
					v.Events = append(v.Events, earlier.about...)
				}
				found = append(found, v)
			}
			held = append(held, l)
		}
	}
	return found
}

// Known wants that where data is lost, and two believe, the older one hears of it
// by its next renewal: S1. So none begins after the grant of the younger, and no
// deadline of the older lies a ttl and more after that.
func Known(h *History, r Rules) []Violation {
	if !r.Loses || r.Split {
		return nil
	}
	var found []Violation
	for name, leases := range h.byName() {
		var held []*Lease
		for _, l := range leases {
			held = slices.DeleteFunc(held, func(earlier *Lease) bool { return earlier.Until() <= l.Granted })
			if l.Until() <= l.Granted || l.Mode == history.Shared {
				continue
			}
			for _, earlier := range held {
				older, younger := earlier, l
				if l.Token < earlier.Token { // its grant was heard late
					older, younger = l, earlier
				}
				begun := younger.Granted
				if r.Jumps {
					begun = max(begun, older.Granted)
				}
				if older.Deadline > begun+int64(r.TTL) {
					found = append(found, Violation{"known", fmt.Sprintf("%s: %v was renewed after the grant of %v", name, older, younger), append(slices.Clone(earlier.about), l.about...)})
				}
			}
			held = append(held, l)
		}
	}
	return found
}

// Tokens wants that no two leases of a name have one token, and that a lease which
// was asked for after another was granted has a higher one: S2. Where data can be
// lost a process goes on with the tokens of a tenure that is none any more, so
// only the first holds.
func Tokens(h *History, r Rules) []Violation {
	var found []Violation
	for name, leases := range h.byName() {
		owner := map[int64]*Lease{}
		highest := make([]*Lease, len(leases)) // of those granted until then
		for i, l := range leases {
			if other := owner[l.Token]; other != nil {
				found = append(found, Violation{"tokens", fmt.Sprintf("%s: %v and %v have one token", name, other, l), append(slices.Clone(other.about), l.about...)})
			}
			owner[l.Token] = l
			highest[i] = l
			if i > 0 && highest[i-1].Token > l.Token {
				highest[i] = highest[i-1]
			}
		}
		if r.Loses {
			continue
		}
		for _, l := range leases {
			before := sort.Search(len(leases), func(i int) bool { return leases[i].Granted >= l.Asked })
			if before == 0 {
				continue
			}
			if earlier := highest[before-1]; earlier.Token > l.Token {
				found = append(found, Violation{"tokens", fmt.Sprintf("%s: %v was asked for after %v was granted", name, l, earlier), append(slices.Clone(earlier.about), l.about...)})
			}
		}
	}
	return found
}

// backoff is the longest pause between two tries of a request that is not answered.
const backoff = 1500 * time.Millisecond

// Recovered wants that no call fails for what the faults did once they have been over
// for as long as the machine may need and each process has tried again. It also wants
// that closing a Client went well.
// (Replicas may have to be made again, which takes its time.)
func Recovered(h *History, r Rules) []Violation {
	var found []Violation
	if h.healed == 0 || Slow(h) {
		return nil
	}
	fine := func(c history.Class) bool { return slices.Contains(expected, c) || c == history.Replicas }
	for _, e := range h.Events {
		if e.What == history.Stop && !fine(e.Class) {
			found = append(found, Violation{"recovered", fmt.Sprintf("%s could not close: %s %s", e.Process, e.Class, e.Detail), []history.Event{e}})
		}
	}
	for _, l := range h.Asks {
		if l.Asked > h.healed+int64(r.Slack+backoff) && l.Granted == 0 && l.Answered > 0 && !fine(l.Why) {
			found = append(found, Violation{"recovered", fmt.Sprintf("%s: %s failed %v after all was well: %s", l.Name, l.Process, time.Duration(l.Asked-h.healed), l.Why), slices.Clone(l.about)})
		}
	}
	return found
}

// expected are the classes that no fault is needed for.
var expected = []history.Class{"", history.OK, history.Held, history.Cancelled}

// lostByTime are those that come of a machine on which processes do not run.
var lostByTime = []history.Class{history.Expired, history.Taken, history.Gone, history.Refused, history.TooSlow, history.Unreachable, history.Unknown, history.NoQuorum}

// Errors wants errors of the stated kinds only, and without a fault none.
func Errors(h *History, r Rules) []Violation {
	var found []Violation
	stalled := h.slow(0, 100*time.Millisecond)
	for _, e := range h.Events {
		fine := slices.Contains(expected, e.Class) || !r.Quiet || stalled && slices.Contains(lostByTime, e.Class)
		if e.What == history.Trouble || e.Class == history.Other || !fine {
			found = append(found, Violation{"errors", fmt.Sprintf("%s: %s of %s: %s %s", e.Process, e.What, e.Name, e.Class, e.Detail), []history.Event{e}})
		}
	}
	return found
}
