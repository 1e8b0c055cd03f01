package pages

import (
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// Page is one page of the dashboard.
type Page struct {
	Path    string // below the base, as a pattern
	Name    string // of its template
	Title   string // of the page that the navigation marks
	Icon    string // in the navigation; empty: the page is not in it
	Charts  bool
	Live    bool // it shows the newest poll, and nothing before the first
	content func(*visit) any
}

// visit is a request for a page; its exported fields and methods are for the templates.
type visit struct {
	*Board
	Page
	Picture *seen.Picture
	Title   string
	Content any // for the template of the page
	query   url.Values
	status  int
}

// Filter is the text that the user typed.
func (v *visit) Filter() string { return v.query.Get("q") }

// fits reports whether one of the texts contains the filter.
func (v *visit) fits(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return show.Contains(text, v.Filter()) })
}

// navItem is a page in the navigation.
type navItem struct {
	Page
	Href           string
	Count          int
	Current, Alarm bool // Alarm: the count is of what somebody should act on
}

// Nav is the navigation.
func (v *visit) Nav() (items []navItem) {
	held, troubles := 0, 0
	for _, l := range v.Picture.Locks {
		if l.Active() {
			held++
		}
		if l.Worst() != nil {
			troubles++
		}
	}
	for _, page := range v.pages {
		if page.Icon == "" {
			continue
		}
		item := navItem{Page: page, Href: v.Base + strings.TrimSuffix(page.Path, "{$}"), Current: page.Title == v.Page.Title}
		switch page.Name {
		case "locks":
			item.Count = held
		case "problems":
			item.Count, item.Alarm = troubles, troubles > 0
		case "redis":
			item.Alarm = v.Picture.Err != nil
		}
		items = append(items, item)
	}
	return items
}
