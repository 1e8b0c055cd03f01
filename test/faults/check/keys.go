package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Seen begins the Detail of an event Monitor that has looked at a key from outside: what
// follows stands for its value, "-" for no key. T is after the look, Deadline
// before it.
const Seen = "seen "

// stand is one value of a key.
type stand struct {
	value    string
	before   int64 // it was not there yet
	from, to int64 // it was seen, and seen to be gone
	about    []history.Event
}

// stands are the values that were seen under each name.
func stands(events []history.Event) map[string][]stand {
	all := map[string][]stand{}
	now := map[string]*stand{}
	before := map[string]int64{}
	for _, e := range events {
		value, ok := strings.CutPrefix(e.Detail, Seen)
		if e.What != history.Monitor || !ok {
			continue
		}
		if s := now[e.Name]; s != nil {
			s.to, s.about = e.T, append(s.about, e)
			all[e.Name] = append(all[e.Name], *s)
			delete(now, e.Name)
		}
		if value != "-" {
			// The look before this event's was within milliseconds, or, where a server
			// did not answer, long ago: nothing is concluded from then.
			now[e.Name] = &stand{value: value, before: max(before[e.Name], e.Deadline-int64(20*time.Millisecond)), from: e.T, about: []history.Event{e}}
		}
		before[e.Name] = e.Deadline
	}
	return all
}

// Behind wants that no key stands for longer than a tenth of a second after all
// who may have set it were told that they have not got it.
func Behind(h *History, r Rules) (found []Violation) {
	for name, all := range stands(h.Events) {
		for _, k := range all {
			told, taker := int64(0), false
			var about []history.Event
			for _, l := range h.Asks {
				end := l.Answered
				if end == 0 {
					end = forever
				}
				if l.Name != name || l.Asked > k.from || end < k.before-int64(20*time.Millisecond) {
					continue
				}
				if l.Granted > 0 || l.Answered == 0 || h.crashed[l.Process] > 0 {
					taker = true
					break
				}
				told = max(told, l.Answered)
				about = append(about, l.about...)
			}
			if left := time.Duration(k.to - max(told, k.from)); !taker && told > 0 && left > 100*time.Millisecond+r.Slack {
				found = append(found, Violation{"behind", fmt.Sprintf("%s: a lock stood for %v after whoever set it was told that it has not got it", name, left),
					append(about, k.about...)})
			}
		}
	}
	return found
}

// Deleted wants that what a holder believes in is not deleted under it. What may
// have expired by itself is not counted.
func Deleted(h *History, r Rules) (found []Violation) {
	if r.Loses {
		return nil
	}
	for name, all := range stands(h.Events) {
		leases := h.byName()[name]
		for _, k := range all {
			end := k.about[len(k.about)-1]
			for _, l := range leases {
				if l.Granted < k.before || l.Granted > k.about[0].Deadline || l.Until() < k.from {
					continue // the key may be another's
				}
				alive := l.Granted - int64(25*time.Millisecond) + int64(r.TTL) // that long no expiry can be
				if end.T < min(l.Until(), alive) {
					found = append(found, Violation{"deleted", fmt.Sprintf("%s: %v, but its lock was gone before %d", name, l, end.T), append(slices.Clone(l.about), k.about...)})
				}
			}
		}
	}
	return found
}

// Overtaken is how many later wishes were granted before the unluckiest one, of
// those that were granted or waited to the end, and how long the longest wait
// was.
func Overtaken(h *History) (most int, longest time.Duration) {
	for _, l := range h.Asks {
		if l.Answered > 0 && l.Granted == 0 {
			continue
		}
		end := l.Granted
		if end == 0 {
			end = h.end
		}
		longest = max(longest, time.Duration(end-l.Asked))
		n := 0
		for _, other := range h.Leases {
			if other.Granted > end {
				break
			}
			if other.Name == l.Name && other.Asked > l.Asked {
				n++
			}
		}
		most = max(most, n)
	}
	return most, longest
}
