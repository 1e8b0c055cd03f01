package sim

import (
	"slices"
	"strings"
	"sync"
)

// Plan is what a run is made of: its items, each "class:where", such as
// "call:p0.1.2", the third call of the second caller of p0, or
// "twice:p1.lock.4", what becomes of the fifth lock that p1 sends. A run asks
// the plan before anything happens, so that a smaller one can be tried.
type Plan struct {
	mu       sync.Mutex
	keep     map[string]bool // nil: all
	asked    map[string]bool
	happened []string
}

// NewPlan makes one of a run in which only the items of keep happen; nil: all.
func NewPlan(keep []string) *Plan {
	p := &Plan{asked: map[string]bool{}}
	if keep != nil {
		p.keep = map[string]bool{}
		for _, item := range keep {
			p.keep[item] = true
		}
	}
	return p
}

// May asks whether an item happens.
func (p *Plan) May(class, where string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	item := class + ":" + where
	if p.keep != nil && !p.keep[item] {
		return false
	}
	if !p.asked[item] {
		p.asked[item] = true
		p.happened = append(p.happened, item)
	}
	return true
}

// Happened are the items that did.
func (p *Plan) Happened() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.happened)
}

// Shrink looks for few items with which a run fails as it does with all. fails
// plays it with no others, and returns those that happened. It plays tries
// runs at most: first without each class, then without each half, quarter,
// and so on, of what is left.
func Shrink(items []string, tries int, fails func(keep []string) (happened []string, failed bool)) []string {
	without := func(drop func(i int, item string) bool) bool {
		kept := []string{}
		for i, item := range items {
			if !drop(i, item) {
				kept = append(kept, item)
			}
		}
		if len(kept) == len(items) || tries <= 0 {
			return false
		}
		tries--
		happened, failed := fails(kept)
		if failed {
			items = happened
		}
		return failed
	}
	for _, class := range classes(items) {
		without(func(_ int, item string) bool { return strings.HasPrefix(item, class+":") })
	}
	for size := (len(items) + 1) / 2; tries > 0; size = (size + 1) / 2 {
		smaller := false
		for from := 0; from < len(items) && tries > 0; {
			if without(func(i int, _ string) bool { return i >= from && i < from+size }) {
				smaller = true
			} else {
				from += size
			}
		}
		if size <= 1 && !smaller {
			break
		}
	}
	return items
}

// classes are those of the items, in order of their first.
func classes(items []string) (all []string) {
	for _, item := range items {
		if class, _, _ := strings.Cut(item, ":"); !slices.Contains(all, class) {
			all = append(all, class)
		}
	}
	return all
}
