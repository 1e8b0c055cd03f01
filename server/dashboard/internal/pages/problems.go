package pages

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// problem is a finding with the name it is about.
type problem struct {
	seen.Finding
	Name string
	Lock lockRow
}

// problemsPage lists findings.
type problemsPage struct {
	Filter   string
	Problems []problem // that somebody should look at
	Notes    []problem
	Pages    *pages
	Names    int
	Empty    bool
}

// problemsOf are all findings, the worst first.
func problemsOf(p *seen.Picture) []problem {
	var all []problem
	for _, l := range p.Locks {
		for _, f := range l.Findings {
			all = append(all, problem{Finding: f, Name: l.Name})
		}
	}
	slices.SortStableFunc(all, func(a, b problem) int {
		return cmp.Or(a.Level.Rank()-b.Level.Rank(), strings.Compare(a.Name, b.Name))
	})
	return all
}

// Problems is the list of findings.
func Problems(b *Board, r *http.Request, p *seen.Picture) Content {
	q := r.URL.Query()
	page := &problemsPage{Filter: q.Get("q"), Names: len(p.Locks), Empty: p.Empty()}
	all := slices.DeleteFunc(problemsOf(p), func(one problem) bool {
		return !show.Contains(one.Name, page.Filter) && !show.Contains(one.Sentence, page.Filter)
	})
	page.Pages, all = paged(q, b.Base+"/problems", all)
	for _, one := range all {
		if one.Lock = newRow(p.ByName[one.Name]); one.Level == seen.Note {
			page.Notes = append(page.Notes, one)
		} else {
			page.Problems = append(page.Problems, one)
		}
	}
	return Content{template: "problems", title: "Problems", active: "Problems", look: true, data: page}
}
