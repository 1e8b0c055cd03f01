package pages

import (
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// jobsPage lists what `holdfast run` ran, the one first whose last success is the oldest.
type jobsPage struct {
	Filter  string
	Known   bool // there is a journal to ask
	Trouble string
	Jobs    []jobRow
	Pages   *pages
}

// jobRow is one job.
type jobRow struct {
	Name, Owner        string
	State, Icon, Class string
	Began, Success     *show.Stamp
	Ended              bool
	Code, Skipped      int
	Lasted             string
}

// Jobs is the list of jobs.
func Jobs(b *Board, r *http.Request, p *seen.Picture) Content {
	q := r.URL.Query()
	page := &jobsPage{Filter: q.Get("q"), Known: b.Journal != nil}
	c := Content{template: "jobs", title: "Jobs", active: "Jobs", data: page}
	if !page.Known {
		return c
	}
	jobs, err := records(b)
	if err != nil {
		page.Trouble = whyNot(err)
		return c
	}
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j journal.Job) bool {
		return !show.Contains(j.Name, page.Filter) && !show.Contains(j.Owner, page.Filter)
	})
	page.Pages, jobs = paged(q, b.Base+"/jobs", jobs)
	for _, j := range jobs {
		page.Jobs = append(page.Jobs, newJobRow(j, p.ByName[j.Name]))
	}
	return c
}

// newJobRow judges as `holdfast jobs` does. Whether a job that has no end still runs,
// its lock says.
func newJobRow(j journal.Job, l *seen.Lock) jobRow {
	here := func(t time.Time) *show.Stamp { // by our clock, what j has by the server's
		if t.IsZero() {
			return nil
		}
		return show.Ago(time.Now().Add(t.Sub(j.Now)))
	}
	row := jobRow{Name: j.Name, Owner: show.Label(j.Owner), Began: here(j.Started), Success: here(j.Succeeded), Ended: !j.Ended.IsZero(), Code: j.Code, Skipped: j.Skipped}
	if row.Ended {
		row.Lasted = show.Length(j.Took)
	}
	look := [3]string{"ok", "ok", "good"}
	switch {
	case j.Unended() && l != nil && l.Held() && (l.Holder.Owner == j.Owner || l.Kind != holdfast.KindMutex):
		look = [3]string{"running", "granted", "good"}
	case j.Unended():
		look = [3]string{"no end", "unknown", "bad"}
	case j.Code != 0:
		look = [3]string{"failed", "trouble", "bad"}
	case j.Skipped > 0:
		look = [3]string{"skipped", "watch", "warn"}
	case j.Late():
		look = [3]string{"late", "jobs", "warn"}
	}
	row.State, row.Icon, row.Class = look[0], look[1], look[2]
	return row
}
