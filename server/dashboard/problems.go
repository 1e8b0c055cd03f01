package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// problem is a finding with the name it is about.
type problem struct {
	finding
	Name string
	Lock lockRow
}

// problemsPage lists findings.
type problemsPage struct {
	Filter   string
	Problems []problem // that somebody should look at
	Notes    []problem
	Total    int
	Pages    *pages
	Names    int
	Empty    bool
}

// order of the levels, the worst first.
var order = map[level]int{bad: 0, warn: 1, note: 2}

// problemsOf are all findings, the worst first.
func problemsOf(p *picture) []problem {
	var all []problem
	for _, l := range p.locks {
		for _, f := range l.findings {
			all = append(all, problem{finding: f, Name: l.Name})
		}
	}
	slices.SortStableFunc(all, func(a, b problem) int {
		return cmp.Or(order[a.Level]-order[b.Level], strings.Compare(a.Name, b.Name))
	})
	return all
}

func (d *board) problems(r *http.Request, p *picture) view {
	q := r.URL.Query()
	page := &problemsPage{Filter: q.Get("q"), Names: len(p.locks), Empty: p.empty()}
	var all []problem
	for _, one := range problemsOf(p) {
		if contains(one.Name, page.Filter) || contains(one.Sentence, page.Filter) {
			one.Lock = d.row(p.byName[one.Name])
			all = append(all, one)
		}
	}
	page.Total = len(all)
	from, to := 0, 0
	page.Pages, from, to = paged(q, d.options.BasePath+"/problems", len(all))
	for _, one := range all[from:to] {
		if one.Level == note {
			page.Notes = append(page.Notes, one)
		} else {
			page.Problems = append(page.Problems, one)
		}
	}
	return view{template: "problems", title: "Problems", active: "Problems", look: true, data: page}
}
