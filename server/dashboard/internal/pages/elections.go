package pages

import (
	"net/http"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
)

// electionsPage lists who leads.
type electionsPage struct {
	Filter    string
	Elections []lockRow
}

// Elections is the list of elections.
func Elections(_ *Board, r *http.Request, p *seen.Picture) Content {
	page := &electionsPage{Filter: r.URL.Query().Get("q")}
	for _, l := range p.Locks {
		if l.Term > 0 && l.Matches(page.Filter) && len(page.Elections) < 5*pageSize {
			page.Elections = append(page.Elections, newRow(l))
		}
	}
	return Content{template: "elections", title: "Elections", active: "Elections", look: true, data: page}
}
