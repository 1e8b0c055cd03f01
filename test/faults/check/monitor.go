package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// tolerance is what the server's reckoning of an expiry may differ from that of
// its commands: it takes the time once, in ms.
const tolerance = int64(1500 * time.Microsecond)

// held is a time in which Redis kept a name for somebody, by what MONITOR showed.
type held struct {
	owner    string // empty: not known
	from, to int64
}

// Believed wants that a caller that believed in a lease had the name in Redis all that
// time, by what the server did. It checks the kinds whose lock key is a string; a
// history without MONITOR passes.
func Believed(h *History, r Rules) []Violation {
	if r.Loses {
		return nil
	}
	truth, seen := seenBy(h.Events)
	if !seen {
		return nil
	}
	var found []Violation
	for _, l := range h.Leases {
		switch l.Kind {
		case history.Mutex, history.Multi, history.Election:
		default:
			continue
		}
		if at := unbacked(truth[l.Name], l); at > 0 {
			found = append(found, Violation{"monitor", fmt.Sprintf("%s: %v, but at %d Redis had it for somebody else or nobody", l.Name, l, at), slices.Clone(l.about)})
		}
	}
	return found
}

// unbacked is the first moment at which the holder believed and Redis did not say
// so; 0: never.
func unbacked(spans []held, l *Lease) int64 {
	at, until := l.Granted, l.Until()
	for _, h := range spans {
		if h.owner != "" && h.owner != l.Process {
			continue
		}
		if h.from-tolerance <= at {
			at = max(at, h.to+tolerance)
		}
	}
	if at >= until {
		return 0
	}
	return at
}

// seenBy says who had each name when.
func seenBy(events []history.Event) (truth map[string][]held, seen bool) {
	truth = map[string][]held{}
	now := map[string]held{}
	end := func(name string, t int64) {
		if h, ok := now[name]; ok {
			h.to = min(h.to, t)
			truth[name] = append(truth[name], h)
			delete(now, name)
		}
	}
	names := map[string]bool{}
	for _, e := range events {
		if e.Name != "" && e.What != history.Left {
			names[e.Name] = true
		}
	}
	for _, e := range events {
		switch {
		case e.What == history.Gap:
			for name := range names { // what was set there is not known before the next is
				end(name, e.Deadline)
				now[name] = held{from: e.Deadline, to: forever}
			}
		case e.What != history.Monitor:
		case e.Detail == "set" || e.Detail == "set if free":
			seen = true
			if h, ok := now[e.Name]; ok && e.Detail == "set if free" && e.T < h.to-tolerance {
				continue // lock_batch does not look before
			}
			end(e.Name, e.T)
			now[e.Name] = held{e.Process, e.T, e.T + e.Version}
		case e.Detail == "prolong":
			if h, ok := now[e.Name]; ok && h.owner != "" {
				h.to = e.T + e.Version
				now[e.Name] = h
			}
		case e.Detail == "end":
			end(e.Name, e.T)
		}
	}
	for name := range now {
		end(name, forever)
	}
	return truth, seen
}
