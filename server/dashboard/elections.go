package dashboard

import (
	"net/http"
)

// electionsPage lists who leads.
type electionsPage struct {
	Filter    string
	Elections []electionRow
}

// electionRow is one election.
type electionRow struct {
	Row  lockRow
	Term int64
}

func (d *board) elections(r *http.Request, p *picture) view {
	page := &electionsPage{Filter: r.URL.Query().Get("q")}
	for _, l := range p.locks {
		if l.Term > 0 && l.matches(page.Filter) && len(page.Elections) < 5*pageSize {
			page.Elections = append(page.Elections, electionRow{d.row(l), l.Term})
		}
	}
	return view{template: "elections", title: "Elections", active: "Elections", look: true, data: page}
}
