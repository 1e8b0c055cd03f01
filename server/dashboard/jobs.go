package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// jobsPage lists what `holdfast run` ran.
type jobsPage struct {
	Filter  string
	Known   bool // Options.Jobs is there
	Trouble string
	Jobs    []jobRow
	Total   int
	Pages   *pages
}

// jobRow is one job.
type jobRow struct {
	Job
	Shown     string // the owner
	State     string // running, succeeded, failed, unknown
	Icon      string
	Class     string
	Began     *stamp
	Success   *stamp
	Lasted    string
	SkippedAt *stamp
}

func (d *board) jobs(r *http.Request, p *picture) view {
	q := r.URL.Query()
	page := &jobsPage{Filter: q.Get("q"), Known: d.options.Jobs != nil}
	v := view{template: "jobs", title: "Jobs", active: "Jobs", data: page}
	if !page.Known {
		return v
	}
	ctx, cancel := context.WithTimeout(r.Context(), firstLook)
	defer cancel()
	jobs, err := d.options.Jobs(ctx)
	if err != nil {
		page.Trouble = visible(strings.TrimPrefix(err.Error(), "holdfast: "))
		return v
	}
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return !contains(j.Name, page.Filter) && !contains(j.Owner, page.Filter) })
	slices.SortFunc(jobs, func(a, b Job) int { return strings.Compare(a.Name, b.Name) })
	page.Total = len(jobs)
	from, to := 0, 0
	page.Pages, from, to = paged(q, d.options.BasePath+"/jobs", len(jobs))
	for _, j := range jobs[from:to] {
		page.Jobs = append(page.Jobs, newJobRow(j, p.byName[j.Name]))
	}
	return v
}

func newJobRow(j Job, l *lock) jobRow {
	row := jobRow{Job: j, Shown: labelOf(j.Owner), Began: ago(j.Started), Success: ago(j.Succeeded), SkippedAt: ago(j.LastSkipped)}
	switch {
	case j.Ended.IsZero() && l != nil && l.held():
		row.State, row.Icon, row.Class = "running", "granted", "good"
		row.Lasted = length(time.Since(j.Started))
	case j.Ended.IsZero():
		row.State, row.Icon, row.Class = "no end was written", "unknown", "warn"
	case j.ExitCode == 0:
		row.State, row.Icon, row.Class = "succeeded", "ok", "good"
	default:
		row.State, row.Icon, row.Class = "failed", "trouble", "bad"
	}
	if row.Lasted == "" && j.Took > 0 {
		row.Lasted = length(j.Took)
	}
	return row
}
