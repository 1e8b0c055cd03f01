package pages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
)

// problem is a finding with the lock it is about.
type problem struct {
	seen.Finding
	Lock *seen.Lock
}

// problemsPage lists findings.
type problemsPage struct {
	*visit
	Problems []problem // that need attention
	Notes    []problem
	Pages    *parts
}

// problemsOf are all findings, the worst first.
func problemsOf(p *seen.Picture) []problem {
	var all []problem
	for _, l := range p.Locks {
		for _, f := range l.Findings {
			all = append(all, problem{f, l})
		}
	}
	slices.SortStableFunc(all, func(a, b problem) int {
		return cmp.Or(a.Level.Rank()-b.Level.Rank(), strings.Compare(a.Lock.Name, b.Lock.Name))
	})
	return all
}

func problems(v *visit) any {
	page := &problemsPage{visit: v}
	all := slices.DeleteFunc(problemsOf(v.Picture), func(one problem) bool { return !v.fits(one.Lock.Name, one.Sentence) })
	page.Pages, all = paged(v, all)
	for _, one := range all {
		if one.Level == seen.Note {
			page.Notes = append(page.Notes, one)
		} else {
			page.Problems = append(page.Problems, one)
		}
	}
	return page
}
