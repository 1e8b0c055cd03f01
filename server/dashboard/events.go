package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// eventsPage is what happened, the newest first.
type eventsPage struct {
	Filter, What string
	Whats        []choice
	Rows         []eventRow
	Journal      bool
	Trouble      string // the journal does not answer
	Since        *stamp
	Empty        bool
}

// eventRow is an Entry as it is shown.
type eventRow struct {
	Key    string
	At     *stamp
	Clock  string
	What   string
	Icon   string
	Class  string
	Name   string
	Owner  string
	Detail string
}

var whats = []string{"asked", "granted", "released", "lost", "revoked", "stolen", "skipped"}

func (d *board) events(r *http.Request, p *picture) view {
	q := r.URL.Query()
	page := &eventsPage{Filter: q.Get("q"), What: q.Get("what"), Journal: d.options.Journal != nil}
	page.Whats = []choice{{"", "All", page.What == ""}}
	for _, w := range whats {
		if page.Journal || w != "revoked" && w != "stolen" && w != "skipped" {
			page.Whats = append(page.Whats, choice{w, strings.ToUpper(w[:1]) + w[1:], w == page.What})
		}
	}
	var entries []Entry
	d.sampler.remembers(func(past *past) {
		entries = slices.Clone(past.events)
		page.Since = ago(past.began)
	})
	slices.Reverse(entries)
	if page.Journal {
		ctx, cancel := context.WithTimeout(r.Context(), firstLook)
		written, err := d.recent.of(ctx, d.options.Journal, "")
		cancel()
		if err != nil {
			page.Trouble = visible(strings.TrimPrefix(err.Error(), "holdfast: "))
		}
		entries = written
	}
	page.Empty = len(entries) == 0
	for _, e := range entries {
		if page.What != "" && e.What != page.What || !contains(e.Name, page.Filter) && !contains(e.Owner, page.Filter) {
			continue
		}
		if len(page.Rows) == pageSize {
			break
		}
		page.Rows = append(page.Rows, newEventRow(e))
	}
	return view{template: "events", title: "Events", active: "Events", data: page}
}

func newEventRow(e Entry) eventRow {
	row := eventRow{
		Key: e.At.Format(time.RFC3339Nano) + e.What + e.Name + e.Owner, At: ago(e.At), Clock: e.At.UTC().Format("15:04:05.0"),
		What: visible(e.What), Icon: "note", Name: e.Name, Owner: labelOf(e.Owner),
	}
	switch e.What {
	case "asked":
		row.Icon, row.Class = "waiting", "calm"
	case "granted":
		row.Icon, row.Class = "granted", "good"
	case "released":
		row.Icon, row.Class = "released", "calm"
	case "lost", "stolen", "revoked":
		row.Icon, row.Class = "trouble", "bad"
	case "skipped":
		row.Icon, row.Class = "watch", "warn"
	}
	var said []string
	if e.Waited > 0 {
		said = append(said, "after "+length(e.Waited))
	}
	if e.Held > 0 {
		said = append(said, "held for "+length(e.Held))
	}
	if e.Cause != "" {
		said = append(said, visible(e.Cause))
	}
	if e.Reason != "" {
		said = append(said, "“"+visible(e.Reason)+"”")
	}
	row.Detail = strings.Join(said, ", ")
	return row
}
