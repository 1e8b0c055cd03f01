package dashboard

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
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
	Began, Success     *stamp
	Ended              bool
	Code, Skipped      int
	Lasted             string
}

func (d *board) jobs(r *http.Request, p *picture) view {
	q := r.URL.Query()
	page := &jobsPage{Filter: q.Get("q"), Known: d.options.Journal != nil}
	v := view{template: "jobs", title: "Jobs", active: "Jobs", data: page}
	if !page.Known {
		return v
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), firstLook) // others wait for the same answer
	defer cancel()
	jobs, err := d.records.of(ctx, d.options.Journal)
	if err != nil {
		page.Trouble = whyNot(err)
		return v
	}
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j journal.Job) bool { return !contains(j.Name, page.Filter) && !contains(j.Owner, page.Filter) })
	from, to := 0, 0
	page.Pages, from, to = paged(q, d.options.BasePath+"/jobs", len(jobs))
	for _, j := range jobs[from:to] {
		page.Jobs = append(page.Jobs, newJobRow(j, p.byName[j.Name]))
	}
	return v
}

// newJobRow judges as `holdfast jobs` does. Whether a job that has no end still runs,
// its lock says.
func newJobRow(j journal.Job, l *lock) jobRow {
	here := func(t time.Time) *stamp { // by our clock, what j has by the server's
		if t.IsZero() {
			return nil
		}
		return ago(time.Now().Add(t.Sub(j.Now)))
	}
	row := jobRow{Name: j.Name, Owner: labelOf(j.Owner), Began: here(j.Started), Success: here(j.Succeeded), Ended: !j.Ended.IsZero(), Code: j.Code, Skipped: j.Skipped}
	if row.Ended {
		row.Lasted = length(j.Took)
	}
	switch {
	case j.Unended() && l != nil && l.held() && (l.Holder.Owner == j.Owner || l.Kind != holdfast.KindMutex):
		row.State, row.Icon, row.Class = "running", "granted", "good"
	case j.Unended():
		row.State, row.Icon, row.Class = "no end", "unknown", "bad"
	case j.Code != 0:
		row.State, row.Icon, row.Class = "failed", "trouble", "bad"
	case j.Skipped > 0:
		row.State, row.Icon, row.Class = "skipped", "watch", "warn"
	case j.Late():
		row.State, row.Icon, row.Class = "late", "jobs", "warn"
	default:
		row.State, row.Icon, row.Class = "ok", "ok", "good"
	}
	return row
}
