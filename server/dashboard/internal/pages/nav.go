package pages

import (
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// navItem is a page in the navigation.
type navItem struct {
	Href, Icon, Text string
	Current          bool
	Count            string
	Alarm            bool // the count is of what somebody should act on
}

func nav(base, active string, p *seen.Picture) []navItem {
	held, troubles := 0, 0
	for _, l := range p.Locks {
		if l.Active() {
			held++
		}
		if l.Worst() != nil {
			troubles++
		}
	}
	items := []navItem{
		{Href: "/", Icon: "overview", Text: "Overview"},
		{Href: "/locks", Icon: "held", Text: "Locks", Count: show.Count(held)},
		{Href: "/processes", Icon: "process", Text: "Processes"},
		{Href: "/problems", Icon: "watch", Text: "Problems", Count: show.Count(troubles), Alarm: troubles > 0},
		{Href: "/events", Icon: "events", Text: "Events"},
		{Href: "/elections", Icon: "election", Text: "Elections"},
		{Href: "/jobs", Icon: "jobs", Text: "Jobs"},
		{Href: "/redis", Icon: "redis", Text: "Redis", Alarm: p.Err != nil},
	}
	for i := range items {
		items[i].Current = items[i].Text == active
		items[i].Href = base + items[i].Href
	}
	return items
}
