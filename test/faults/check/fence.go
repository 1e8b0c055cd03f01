package check

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Fence wants that the resource took nothing under a token below one that it had
// seen, and that no write behind the fence undid another.
func Fence(h *History, _ Rules) []Violation {
	var found []Violation
	fences := map[string]history.Event{} // the event of the highest token
	for _, e := range h.Events {
		if !decision(e.What) {
			continue
		}
		high := fences[e.Name]
		took := e.What == history.Accept || e.What == history.Advance
		switch {
		case took && e.Token < high.Token:
			found = append(found, Violation{"fence", fmt.Sprintf("%s: token %d was taken after %d", e.Name, e.Token, high.Token), []history.Event{high, e}})
		case !took && e.Token >= high.Token:
			found = append(found, Violation{"fence", fmt.Sprintf("%s: token %d was refused after %d", e.Name, e.Token, high.Token), []history.Event{high, e}})
		case e.What == history.Accept && e.Base != e.Version-1:
			found = append(found, Violation{"fence", fmt.Sprintf("%s: write %d of token %d knew version %d only", e.Name, e.Version, e.Token, e.Base), []history.Event{e}})
		}
		if e.Token >= high.Token {
			fences[e.Name] = e
		}
	}
	return found
}

func decision(w history.What) bool {
	return w == history.Accept || w == history.Refuse || w == history.Advance || w == history.Bar
}

// Adds wants that what a client was told it had added to the set behind the fence
// is in it at the end. The set of a version is that of its base and its writer.
func Adds(h *History, _ Rules) []Violation {
	writers := map[string]map[int64]history.Event{}
	last := map[string]int64{}
	for _, e := range h.Events {
		if e.What == history.Accept {
			if writers[e.Name] == nil {
				writers[e.Name] = map[int64]history.Event{}
			}
			writers[e.Name][e.Version] = e
			last[e.Name] = max(last[e.Name], e.Version)
		}
	}
	set := map[int64]bool{}
	for name, version := range last {
		for version > 0 {
			e, ok := writers[name][version]
			if !ok || e.Base >= version {
				break
			}
			set[e.Attempt] = true
			version = e.Base
		}
	}
	var found []Violation
	for _, e := range h.Events {
		if e.What == history.Write && e.Class == history.OK && !set[e.Attempt] {
			found = append(found, Violation{"adds", fmt.Sprintf("%s: attempt %d was told of its add, which is not there", e.Name, e.Attempt), []history.Event{e}})
		}
	}
	return found
}

// Unfenced wants that the register without a fence loses nothing either, as long
// as all who write to it hold the name at that moment.
func Unfenced(h *History, r Rules) []Violation {
	if r.Loses {
		return nil
	}
	leases := map[int64]*Lease{}
	for _, l := range h.Leases {
		leases[l.Attempt] = l
	}
	holds := func(e history.Event) bool {
		l := leases[e.Attempt]
		return l != nil && l.Granted <= e.T && e.T < l.Until()
	}
	var found []Violation
	writes := map[string][]history.Event{}
	for _, e := range h.Events {
		if e.What != history.Accept && e.What != history.Refuse {
			continue
		}
		if e.FreeOf != e.Free-1 && holds(e) {
			for _, other := range writes[e.Name] {
				if other.Free > e.FreeOf && holds(other) {
					about := append(slices.Clone(leases[other.Attempt].about), leases[e.Attempt].about...)
					found = append(found, Violation{"unfenced", fmt.Sprintf("%s: attempt %d undid what %d wrote, and both held", e.Name, e.Attempt, other.Attempt), append(about, other, e)})
				}
			}
		}
		writes[e.Name] = append(writes[e.Name], e)
	}
	return found
}
