package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// pageSize bounds what a browser has to carry: 5,000 locks are fifty pages.
const pageSize = 100

// lockRow is a lock in a table.
type lockRow struct {
	Name    string
	Kind    string
	State   string // held, free, cooldown, unreadable
	Owner   string // "" where nobody holds it
	Others  string // "and 3 more", of a shared kind
	Bar     *ttlBar
	Held    string // "" where not known
	HeldMS  int64
	Waiting int
	Problem *finding
}

// locksPage is the table of locks.
type locksPage struct {
	Query      url.Values
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

// choice is one of a few.
type choice struct {
	Value, Text string
	Current     bool
}

// column is a heading that sorts.
type column struct {
	Text, Href, Class string
	Sorted            string // "", "ascending" or "descending"
}

// pages leads to the others of a long table.
type pages struct {
	From, To, Total int
	Before, After   string // empty: none
}

func (d *board) locks(r *http.Request, p *picture) view {
	q := r.URL.Query()
	l := &locksPage{Query: q, Filter: q.Get("q"), State: cmp.Or(q.Get("state"), "used"), Sort: cmp.Or(q.Get("sort"), "name"), Names: len(p.locks), Unreadable: p.unreadable}
	l.Empty = p.empty()
	for _, c := range []choice{{Value: "used", Text: "In use"}, {Value: "held", Text: "Held"}, {Value: "waiting", Text: "With waiters"}, {Value: "attention", Text: "Needs attention"}, {Value: "free", Text: "Free"}, {Value: "all", Text: "All"}} {
		c.Current = c.Value == l.State
		l.States = append(l.States, c)
	}
	var some []*lock
	for _, lock := range p.locks {
		if inState(lock, l.State) && lock.matches(l.Filter) {
			some = append(some, lock)
		}
	}
	descending := q.Get("order") == "down"
	sortLocks(some, l.Sort, descending)
	l.Columns = columns(q, l.Sort, descending)
	if d.quorum() != "" {
		l.withoutLines()
	}
	l.Total = len(some)
	from, to := 0, 0
	l.Pages, from, to = paged(q, d.options.BasePath+"/locks", len(some))
	for _, lock := range some[from:to] {
		l.Rows = append(l.Rows, d.row(lock))
	}
	return view{template: "locks", title: "Locks", active: "Locks", look: true, data: l}
}

func inState(l *lock, state string) bool {
	switch state {
	case "held":
		return l.held()
	case "waiting":
		return l.Waiting > 0
	case "attention":
		return l.worst() != nil
	case "free":
		return !l.active()
	case "all":
		return true
	}
	return l.active()
}

var orders = map[string]func(a, b *lock) int{
	"name":    func(a, b *lock) int { return strings.Compare(a.Name, b.Name) },
	"owner":   func(a, b *lock) int { return strings.Compare(ownerName(a.Holder), ownerName(b.Holder)) },
	"held":    func(a, b *lock) int { return cmp.Compare(heldFor(a), heldFor(b)) },
	"left":    func(a, b *lock) int { return cmp.Compare(ends(a), ends(b)) },
	"waiting": func(a, b *lock) int { return cmp.Compare(a.Waiting, b.Waiting) },
	"state":   func(a, b *lock) int { return cmp.Compare(rank(a), rank(b)) },
}

func heldFor(l *lock) time.Duration {
	if l.Holder == nil || l.Holder.Held == 0 {
		return -1
	}
	return l.Holder.Held + time.Since(l.seen)
}

func ends(l *lock) int64 {
	if l.Holder == nil || l.Holder.Remaining < 0 {
		return 1 << 62
	}
	return l.seen.Add(l.Holder.Remaining).UnixMilli()
}

func rank(l *lock) int {
	if f := l.worst(); f != nil {
		return slices.Index([]level{bad, warn}, f.Level)
	}
	return 2
}

func sortLocks(some []*lock, by string, descending bool) {
	order, ok := orders[by]
	if !ok {
		order = orders["name"]
	}
	slices.SortStableFunc(some, func(a, b *lock) int { // they came sorted by name
		if descending {
			return order(b, a)
		}
		return order(a, b)
	})
}

func columns(q url.Values, by string, descending bool) []column {
	var all []column
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
		all = append(all, column{Text: c.text, Class: c.class, Sorted: sorted, Href: with(q, "sort", c.key, "order", next, "page", "")})
	}
	return all
}

// with is a query with some values set; empty takes one off.
func with(q url.Values, pairs ...string) string {
	v := url.Values{}
	for key, values := range q {
		v[key] = values
	}
	for i := 0; i < len(pairs); i += 2 {
		if v.Del(pairs[i]); pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return "?" + v.Encode()
}

// paged says which part of total to show, and leads to the others.
func paged(q url.Values, path string, total int) (p *pages, from, to int) {
	n, _ := strconv.Atoi(q.Get("page"))
	n = max(1, min(n, (total+pageSize-1)/pageSize))
	from = (n - 1) * pageSize
	to = min(total, from+pageSize)
	if total <= pageSize {
		return nil, from, to
	}
	p = &pages{From: from + 1, To: to, Total: total}
	if n > 1 {
		p.Before = path + with(q, "page", strconv.Itoa(n-1))
	}
	if to < total {
		p.After = path + with(q, "page", strconv.Itoa(n+1))
	}
	return p, from, to
}

func (d *board) row(l *lock) lockRow {
	row := lockRow{Name: l.Name, Kind: kindOf(l), State: "free", Waiting: l.Waiting, Problem: l.worst()}
	h := l.Holder
	switch {
	case l.unreadable:
		row.State = "unreadable"
		return row
	case h == nil:
		return row
	case h.Cooldown:
		row.State, row.Owner = "cooldown", "in cool-down after "+ownerName(h)
	default:
		row.State, row.Owner = "held", ownerName(h)
	}
	if l.Holding > 1 {
		row.Others = "and " + thousands(l.Holding-1) + " more"
	}
	if h.Held > 0 && !h.Cooldown {
		held := h.Held + time.Since(l.seen)
		row.Held, row.HeldMS = length(held), held.Milliseconds()
	}
	row.Bar = newBar(h, l.seen)
	return row
}

// kindOf is what a name is used as.
func kindOf(l *lock) string {
	if l.Term > 0 {
		return "election"
	}
	if l.Kind == holdfast.KindMutex {
		return ""
	}
	return string(l.Kind)
}

func (d *board) lockHref(name string) string {
	return d.options.BasePath + "/lock?" + url.Values{"name": {name}}.Encode()
}
