package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// locksPage is the table of locks.
type locksPage struct {
	Filter     string
	State      string
	States     []choice
	Sort       string
	Columns    []column
	Rows       []lockRow
	Total      int // that match
	Names      int // that are known
	Unreadable int
	Pages      *pages
	Empty      bool
}

// column is a heading that sorts.
type column struct {
	Text, Href, Class string
	Sorted            string // "", "ascending" or "descending"
}

// Locks is the table of locks.
func Locks(b *Board, r *http.Request, p *seen.Picture) Content {
	q := r.URL.Query()
	l := &locksPage{Filter: q.Get("q"), State: cmp.Or(q.Get("state"), "used"), Sort: cmp.Or(q.Get("sort"), "name"), Names: len(p.Locks), Unreadable: p.Unreadable, Empty: p.Empty()}
	for _, c := range []choice{{Value: "used", Text: "In use"}, {Value: "held", Text: "Held"}, {Value: "waiting", Text: "With waiters"}, {Value: "attention", Text: "Needs attention"}, {Value: "free", Text: "Free"}, {Value: "all", Text: "All"}} {
		if c.Current = c.Value == l.State; b.Quorum == "" || c.Value != "waiting" {
			l.States = append(l.States, c)
		}
	}
	var some []*seen.Lock
	for _, lock := range p.Locks {
		if inState(lock, l.State) && lock.Matches(l.Filter) {
			some = append(some, lock)
		}
	}
	descending := q.Get("order") == "down"
	sortLocks(some, l.Sort, descending)
	l.Columns = columns(q, l.Sort, descending, b.Quorum == "")
	l.Total = len(some)
	l.Pages, some = paged(q, b.Base+"/locks", some)
	for _, lock := range some {
		l.Rows = append(l.Rows, newRow(lock))
	}
	return Content{template: "locks", title: "Locks", active: "Locks", look: true, data: l}
}

func inState(l *seen.Lock, state string) bool {
	switch state {
	case "held":
		return l.Held()
	case "waiting":
		return l.Waiting > 0
	case "attention":
		return l.Worst() != nil
	case "free":
		return !l.Active()
	case "all":
		return true
	}
	return l.Active()
}

var orders = map[string]func(a, b *seen.Lock) int{
	"name":    func(a, b *seen.Lock) int { return strings.Compare(a.Name, b.Name) },
	"owner":   func(a, b *seen.Lock) int { return strings.Compare(show.Owner(a.Holder), show.Owner(b.Holder)) },
	"held":    func(a, b *seen.Lock) int { return cmp.Compare(a.HeldFor(), b.HeldFor()) },
	"left":    func(a, b *seen.Lock) int { return cmp.Compare(ends(a), ends(b)) },
	"waiting": func(a, b *seen.Lock) int { return cmp.Compare(a.Waiting, b.Waiting) },
	"state":   func(a, b *seen.Lock) int { return cmp.Compare(rank(a), rank(b)) },
}

func ends(l *seen.Lock) int64 {
	if l.Holder == nil || l.Holder.Remaining < 0 {
		return 1 << 62
	}
	return l.Seen.Add(l.Holder.Remaining).UnixMilli()
}

func rank(l *seen.Lock) int {
	if f := l.Worst(); f != nil {
		return f.Level.Rank()
	}
	return seen.Note.Rank()
}

func sortLocks(some []*seen.Lock, by string, descending bool) {
	order, ok := orders[by]
	if !ok {
		order = orders["name"]
	}
	slices.SortStableFunc(some, func(a, b *seen.Lock) int { // they came sorted by name
		if descending {
			return order(b, a)
		}
		return order(a, b)
	})
}

func columns(q url.Values, by string, descending, queues bool) (all []column) {
	for _, c := range []struct{ key, text, class string }{
		{"name", "Name", ""}, {"state", "State", ""}, {"owner", "Holder", ""}, {"held", "Held for", "number"}, {"left", "Time left", ""}, {"waiting", "Waiting", "number"},
	} {
		next, sorted := "up", ""
		switch c.key {
		case by:
			sorted = "ascending"
			if next = "down"; descending {
				next, sorted = "up", "descending"
			}
		case "held", "waiting":
			next = "down"
		}
		if queues || c.key != "waiting" {
			all = append(all, column{Text: c.text, Class: c.class, Sorted: sorted, Href: with(q, "sort", c.key, "order", next, "page", "")})
		}
	}
	return all
}
