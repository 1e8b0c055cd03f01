package holdfastprom

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	jobsByState = prometheus.NewDesc("holdfast_jobs",
		"Jobs, by state.", []string{"state"}, nil)
	jobsUp = prometheus.NewDesc("holdfast_jobs_up",
		"1 if the jobs could be read; 0: these figures are those of the newest time.", nil, nil)
	jobStarted = prometheus.NewDesc("holdfast_job_last_start_timestamp_seconds",
		"Time of the newest start.", []string{"name"}, nil)
	jobSucceeded = prometheus.NewDesc("holdfast_job_last_success_timestamp_seconds",
		"Time of the newest end with exit code 0.", []string{"name"}, nil)
	jobTook = prometheus.NewDesc("holdfast_job_last_duration_seconds",
		"Duration of the newest run that ended.", []string{"name"}, nil)
	jobExit = prometheus.NewDesc("holdfast_job_last_exit",
		"1: how the newest run ended, by the class of its exit code.", []string{"name", "class"}, nil)
	jobRunning = prometheus.NewDesc("holdfast_job_running",
		"1: it runs now.", []string{"name"}, nil)
	jobLate = prometheus.NewDesc("holdfast_job_late",
		"1: it does not run, and its next start is overdue.", []string{"name"}, nil)
	jobTooLong = prometheus.NewDesc("holdfast_job_too_long",
		"1: it runs for longer than it expects, or than three times its usual duration and a minute.", []string{"name"}, nil)
)

// JobsOptions are the settings of [Jobs]. The zero value means the defaults.
type JobsOptions struct {
	// Prefix is [holdfast.Options.Prefix] of the Clients that run the jobs.
	Prefix string

	// Every is the shortest time between two reads, for all scrapers together.
	// Default: 30 s.
	Every time.Duration

	// Except reports whether a job has no series of its own, so that no alert is about
	// it. Default: none is.
	Except func(name string) bool

	// Wait is how long a scrape waits for a read. If that takes longer, the scrape
	// gets the figures of the one before. Default: 1 s.
	Wait time.Duration

	// MaxJobs is the largest number of jobs with series of their own: first those with
	// a problem, then those that were tried last. holdfast_jobs counts all. Default:
	// 200.
	MaxJobs int
}

// Jobs are the runs of "holdfast run" and "holdfast elect", as the journal has them. It is
// a prometheus.Collector. A scrape reads them if its figures are older than
// JobsOptions.Every.
type Jobs struct {
	names   admin.Reader
	store   driver.Store
	options JobsOptions

	mu      sync.Mutex // protects the rest
	reading chan struct{}
	began   time.Time
	shown   []jobWithState // by the newest read that succeeded, in the order of JobsOptions.MaxJobs
	up      bool
}

var _ prometheus.Collector = (*Jobs)(nil)

// NewJobs makes the metrics of the jobs in a journal. The names are those of their locks:
// they say which jobs still run. Nil options mean the defaults.
func NewJobs(names admin.Reader, store driver.Store, options *JobsOptions) *Jobs {
	j := &Jobs{names: names, store: store}
	if options != nil {
		j.options = *options
	}
	o := &j.options
	if o.Every < 0 || o.Wait < 0 || o.MaxJobs < 0 {
		panic("holdfastprom: JobsOptions must not be negative")
	}
	defaultTo(&o.Every, 30*time.Second)
	defaultTo(&o.Wait, time.Second)
	defaultTo(&o.MaxJobs, 200)
	return j
}

// jobWithState is a job with its state.
type jobWithState struct {
	journal.Job
	state journal.JobState
}

// refresh begins to read if it is time, and waits a while for that.
func (j *Jobs) refresh() {
	j.mu.Lock()
	if now := time.Now(); j.reading == nil && (j.began.IsZero() || now.Sub(j.began) >= j.options.Every) {
		j.reading, j.began = make(chan struct{}), now
		go j.read(j.reading)
	}
	reading := j.reading
	j.mu.Unlock()
	if reading == nil {
		return
	}
	patience := time.NewTimer(j.options.Wait)
	defer patience.Stop()
	select {
	case <-reading:
	case <-patience.C:
	}
}

// read takes new figures.
func (j *Jobs) read(done chan<- struct{}) {
	defer close(done)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	jobs, err := j.withStates(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.reading, j.up = nil, err == nil; j.up {
		j.shown = jobs
	}
}

// withStates reads the jobs. It asks for the lock of each that has not ended.
func (j *Jobs) withStates(ctx context.Context) ([]jobWithState, error) {
	jobs, _, err := journal.Jobs(ctx, j.store, j.options.Prefix)
	if err != nil {
		return nil, err
	}
	out := make([]jobWithState, 0, len(jobs))
	for _, job := range jobs {
		runs := false
		if job.Unended() { // a job must not look dead because of a missing right
			if runs, err = admin.MayBeHeldBy(ctx, j.names, job.Name, job.Client); err != nil {
				return nil, err
			}
		}
		out = append(out, jobWithState{job, job.State(runs)})
	}
	slices.SortFunc(out, func(a, b jobWithState) int {
		return cmp.Or(cmp.Compare(truth(b.state.Problem()), truth(a.state.Problem())), b.Tried.Compare(a.Tried), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// Describe implements prometheus.Collector.
func (j *Jobs) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		jobsByState, jobsUp, jobStarted, jobSucceeded, jobTook, jobExit, jobRunning, jobLate, jobTooLong,
	} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. It blocks for at most JobsOptions.Wait.
func (j *Jobs) Collect(metrics chan<- prometheus.Metric) {
	j.refresh()
	j.mu.Lock()
	shown, up := j.shown, j.up
	j.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	moment := func(desc *prometheus.Desc, t time.Time, name string) {
		if !t.IsZero() {
			gauge(desc, float64(t.UnixMilli())/1000, name)
		}
	}
	gauge(jobsUp, truth(up))
	states, named := make(map[journal.JobState]int), 0
	for _, job := range shown {
		states[job.state]++
		if named == j.options.MaxJobs || j.options.Except != nil && j.options.Except(job.Name) {
			continue
		}
		named++
		moment(jobStarted, job.Started, job.Name)
		moment(jobSucceeded, job.Succeeded, job.Name)
		if !job.Ended.IsZero() {
			gauge(jobTook, job.Took.Seconds(), job.Name)
		}
		if class := exitClass(job); class != "" {
			gauge(jobExit, 1, job.Name, class)
		}
		runs := job.state == journal.JobRunning || job.state == journal.JobTooLong
		gauge(jobRunning, truth(runs), job.Name)
		gauge(jobLate, truth(job.Late() && !runs), job.Name)
		gauge(jobTooLong, truth(job.state == journal.JobTooLong), job.Name)
	}
	for _, state := range journal.JobStates() {
		gauge(jobsByState, float64(states[state]), string(state))
	}
}

// exitClass says in a word how the newest run ended; "" if none did. See docs/exit-codes.md.
func exitClass(j jobWithState) string {
	switch {
	case j.state == journal.JobNoEnd:
		return "no end"
	case j.Ended.IsZero():
		return ""
	case j.Code == 0:
		return "ok"
	case j.Code == 122:
		return "lost"
	case j.Code == 124:
		return "max hold"
	case j.Code == 126, j.Code == 127:
		return "not started"
	case j.Code > 128:
		return "signal"
	}
	return "failed"
}
