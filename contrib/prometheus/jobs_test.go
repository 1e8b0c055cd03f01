package holdfastprom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// refusing is a store whose scripts fail while fails is set, and those about locks while denied is.
type refusing struct {
	driver.Store
	fails, denied atomic.Bool
}

func (r *refusing) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if r.fails.Load() {
		return nil, errors.New("connection refused")
	}
	if r.denied.Load() && !strings.HasPrefix(call.Keys[0], "holdfast/jobs:") {
		return nil, driver.ServerError("NOPERM this user has no permissions to access one of the keys used as arguments")
	}
	return r.Store.Eval(ctx, call)
}

// However many jobs there are, few have series of their own, and those with a problem first. While
// they cannot be read, the newest figures stay, and it is said.
func TestJobs(t *testing.T) {
	keys := embed(t)
	store := &refusing{Store: keys}
	if _, err := keys.Do("HSET", "holdfast/jobs:holdfast:", "a\xff", "1 0 0 1 0 0 0 w 1 1 c 0 0 0 0 0 0 owner"); err != nil { // a label cannot have this name
		t.Fatal(err)
	}
	w := journal.NewWriter(store, nil)
	for i := range 9 {
		at := time.Now().Add(time.Duration(i-60) * time.Minute)
		name, token := fmt.Sprint("j", i), int64(i+1)
		w.Note(journal.Entry{Event: journal.Started, Name: name, Token: token, At: at})
		w.Note(journal.Entry{Event: journal.Ended, Name: name, Token: token, At: at.Add(time.Second), Held: time.Second, Code: map[int]int{2: 137, 3: 124}[i]})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	jobs := holdfastprom.NewJobs(admin.Of(plain(t, store, "A")), store, &holdfastprom.JobsOptions{MaxJobs: 4, Every: time.Nanosecond, Wait: patience})
	want := map[string]float64{
		"holdfast_jobs_up": 1, "holdfast_jobs{ok}": 7, "holdfast_jobs{failed}": 2, "holdfast_jobs{no end}": 0,
		"holdfast_job_last_exit{signal,j2}": 1, "holdfast_job_last_exit{max hold,j3}": 1,
		"holdfast_job_last_exit{ok,j8}": 1, "holdfast_job_last_exit{ok,j7}": 1,
	}
	shows(t, jobs, want)
	named := 0
	for series := range scrape(t, jobs) {
		if len(series) > 20 && series[:20] == "holdfast_job_running" {
			named++
		}
	}
	if named != 4 {
		t.Errorf("got series of %d jobs, want 4", named)
	}
	store.fails.Store(true)
	want["holdfast_jobs_up"] = 0
	shows(t, jobs, want)
}

// A job that has not ended is shown as dead only if nobody holds its lock, not if the lock cannot
// be read.
func TestJobsWithoutTheirLocks(t *testing.T) {
	store := &refusing{Store: embed(t)}
	w := journal.NewWriter(store, nil)
	w.Note(journal.Entry{Event: journal.Started, Name: "nightly", Token: 1, Client: "c"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	jobs := holdfastprom.NewJobs(admin.Of(plain(t, store, "A")), store, &holdfastprom.JobsOptions{Every: time.Nanosecond, Wait: patience})
	shows(t, jobs, map[string]float64{"holdfast_jobs_up": 1, "holdfast_jobs{no end}": 1, "holdfast_jobs{running}": 0})
	store.denied.Store(true)
	shows(t, jobs, map[string]float64{"holdfast_jobs_up": 1, "holdfast_jobs{no end}": 0, "holdfast_jobs{running}": 1})
}
