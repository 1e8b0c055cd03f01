package pages

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// jobsPage lists what `holdfast run` ran, the one first whose last success is the oldest.
type jobsPage struct {
	*visit
	Trouble    string
	Unreadable string
	Jobs       []jobRow
	Pages      *parts
}

// jobRow is one job.
type jobRow struct {
	journal.Job
	Chip chip
}

// Ago is how long ago a moment was that the job has by the server's clock.
func (j jobRow) Ago(t time.Time) *show.Stamp {
	if t.IsZero() {
		return nil
	}
	return show.Ago(time.Now().Add(t.Sub(j.Now)))
}

func jobs(v *visit) any {
	page := &jobsPage{visit: v}
	if v.Journal == nil {
		return page
	}
	read, err := records(v.Board)
	if err != nil {
		page.Trouble = whyNot(err)
		return page
	}
	page.Unreadable = read.text("job")
	all := slices.DeleteFunc(slices.Clone(read.all), func(j journal.Job) bool { return !v.fits(j.Name, j.Owner) })
	page.Pages, all = paged(v, all)
	for _, j := range all {
		page.Jobs = append(page.Jobs, jobRow{j, stateOf(j, v.Picture)})
	}
	return page
}

// stateOf is the state that `holdfast jobs` shows. The record is read at another time than the locks, so
// a job that began or ended in between counts as one that runs: it has no missing end.
func stateOf(j journal.Job, p *seen.Picture) chip {
	icons := map[journal.JobState][2]string{
		journal.JobTooLong: {"watch", "bad"}, journal.JobRunning: {"granted", "good"}, journal.JobNoEnd: {"unknown", "bad"},
		journal.JobFailed: {"trouble", "bad"}, journal.JobLate: {"jobs", "bad"}, journal.JobSkipped: {"watch", "warn"}, journal.JobOK: {"ok", "good"},
	}
	l := p.ByName[j.Name]
	runs := l != nil && l.HeldBy(j.Client) || j.Started.Add(p.Ahead).After(p.At) ||
		slices.ContainsFunc(p.Past.Holds[j.Name], func(h seen.Hold) bool { return p.At.Sub(h.To) < 4*seen.Interval })
	state := j.State(runs)
	return chip{string(state), icons[state][0], icons[state][1]}
}
