package pages

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// locksPage is the table of locks.
type locksPage struct {
	*visit
	State   string
	States  []choice
	Sort    string
	Columns []column
	Rows    []*seen.Lock
	Total   int // that match
	Pages   *parts
}

// column is a heading that sorts.
type column struct {
	Text, Href, Class string
	Sorted            string // "", "ascending" or "descending"
}

func locks(v *visit) any {
	l := &locksPage{visit: v, State: cmp.Or(v.query.Get("state"), "used"), Sort: cmp.Or(v.query.Get("sort"), "name")}
	fits := (*seen.Lock).Active
	for _, c := range states {
		current := c.value == l.State
		if current {
			fits = c.fits
		}
		if v.Quorum == "" || c.value != "waiting" {
			l.States = append(l.States, choice{c.value, c.text, current})
		}
	}
	some := slices.DeleteFunc(slices.Clone(v.Picture.Locks), func(lock *seen.Lock) bool { return !fits(lock) || !lock.Matches(v.Filter()) })
	l.Columns = sorted(some, v.query, v.Quorum == "")
	l.Total = len(some)
	l.Pages, l.Rows = paged(v, some)
	return l
}

// states are what the table can be limited to.
var states = []struct {
	value, text string
	fits        func(*seen.Lock) bool
}{
	{"used", "In use", (*seen.Lock).Active},
	{"held", "Held", (*seen.Lock).Held},
	{"waiting", "With waiters", func(l *seen.Lock) bool { return l.Waiting > 0 }},
	{"attention", "Needs attention", func(l *seen.Lock) bool { return l.Worst() != nil }},
	{"free", "Free", func(l *seen.Lock) bool { return !l.Active() }},
	{"all", "All", func(*seen.Lock) bool { return true }},
}

// orders are the columns, and how each sorts; down: the largest first, if asked once.
var orders = []struct {
	key, text, class string
	down             bool
	compare          func(a, b *seen.Lock) int
}{
	{"name", "Name", "text s4", false, func(a, b *seen.Lock) int { return strings.Compare(a.Name, b.Name) }},
	{"state", "State", "text s3", false, func(a, b *seen.Lock) int { return cmp.Compare(rank(a), rank(b)) }},
	{"owner", "Holder", "text s3", false, func(a, b *seen.Lock) int { return strings.Compare(show.Owner(a.Holder), show.Owner(b.Holder)) }},
	{"held", "Held for", "number", true, func(a, b *seen.Lock) int { return cmp.Compare(a.HeldFor(), b.HeldFor()) }},
	{"left", "Lease", "", false, func(a, b *seen.Lock) int { return cmp.Compare(ends(a), ends(b)) }},
	{"waiting", "Waiting", "number", true, func(a, b *seen.Lock) int { return cmp.Compare(a.Waiting, b.Waiting) }},
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

// sorted sorts locks, which come by name, and makes the headings that sort.
func sorted(some []*seen.Lock, q url.Values, queues bool) (all []column) {
	by, descending := cmp.Or(q.Get("sort"), "name"), q.Get("order") == "down"
	for _, c := range orders {
		now, next := "", "up"
		switch {
		case c.key == by && descending:
			now = "descending"
			slices.SortStableFunc(some, func(a, b *seen.Lock) int { return c.compare(b, a) })
		case c.key == by:
			now, next = "ascending", "down"
			slices.SortStableFunc(some, c.compare)
		case c.down:
			next = "down"
		}
		if queues || c.key != "waiting" {
			all = append(all, column{Text: c.text, Class: c.class, Sorted: now, Href: with(q, "sort", c.key, "order", next, "page", "")})
		}
	}
	return all
}
