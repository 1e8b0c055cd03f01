package journal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/journal"
)

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

// runs notes runs of a job that took a minute each, at these times ago, the oldest first.
func runs(w *journal.Writer, name string, every time.Duration, starts ...time.Duration) {
	for _, d := range starts {
		w.Note(journal.Entry{Event: journal.Started, Name: name, At: ago(d), Every: every})
		w.Note(journal.Entry{Event: journal.Ended, Name: name, At: ago(d - time.Minute), Held: time.Minute})
	}
}

func jobsByName(t *testing.T, store *faulty) map[string]journal.Job {
	t.Helper()
	jobs, _, err := journal.Jobs(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]journal.Job)
	for _, j := range jobs {
		byName[j.Name] = j
	}
	return byName
}

// The journal remembers starts, ends and skips in a row of jobs.
func TestJobs(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond, Owner: "A b"})
	runs(w, "nightly", 0, 49*time.Hour)
	w.Note(journal.Entry{Event: journal.Skipped, Name: "nightly", At: ago(25 * time.Hour)})
	w.Note(journal.Entry{Event: journal.Skipped, Name: "nightly", At: ago(time.Hour)})
	runs(w, "fails", 0, 10*time.Hour)
	w.Note(journal.Entry{Event: journal.Started, Name: "fails", At: ago(9 * time.Hour)})
	w.Note(journal.Entry{Event: journal.Ended, Name: "fails", At: ago(8 * time.Hour), Held: time.Hour, Code: 3})
	w.Note(journal.Entry{Event: journal.Started, Name: "now", Client: "c 1"})
	flush(t, w)
	near := func(what string, got time.Time, want time.Duration) {
		t.Helper()
		if d := time.Since(got) - want; d.Abs() > 5*time.Minute {
			t.Errorf("%s: got %v ago, want %v", what, time.Since(got), want)
		}
	}
	jobs, _, err := journal.Jobs(t.Context(), store, "")
	if err != nil || len(jobs) != 3 {
		t.Fatalf("got %+v, %v, want three", jobs, err)
	}
	now, nightly, fails := jobs[0], jobs[1], jobs[2]
	if now.Name != "now" || nightly.Name != "nightly" || fails.Name != "fails" {
		t.Fatalf("got %s, %s, %s, want the one that succeeded last at the end", now.Name, nightly.Name, fails.Name)
	}
	if !now.Unended() || nightly.Unended() || fails.Unended() || !now.Succeeded.IsZero() || now.Owner != "A b" || now.Client != "c1" {
		t.Errorf("got %+v, want only that one to run", now)
	}
	if got := [2]journal.JobState{now.State(true), now.State(false)}; got != [2]journal.JobState{journal.JobRunning, journal.JobNoEnd} {
		t.Errorf("got %v, want that its Client decides", got)
	}
	near("nightly started", nightly.Started, 49*time.Hour)
	near("nightly succeeded", nightly.Succeeded, 49*time.Hour)
	near("nightly tried", nightly.Tried, time.Hour)
	if nightly.Skipped != 2 || nightly.Took != time.Minute || nightly.Code != 0 || nightly.State(false) != journal.JobSkipped {
		t.Errorf("got %+v, want two skips", nightly)
	}
	near("fails succeeded", fails.Succeeded, 10*time.Hour)
	near("fails ended", fails.Ended, 8*time.Hour)
	if fails.Code != 3 || fails.State(false) != journal.JobFailed {
		t.Errorf("got %+v, want code 3", fails)
	}
}

// series are the times ago of starts from the first to the last, each an interval after the other.
func series(first, last, interval time.Duration) (all []time.Duration) {
	for d := first; d >= last; d -= interval {
		all = append(all, d)
	}
	return all
}

// A job is late by its own interval: that of its schedule, or one that many days confirm. Runs by
// hand neither make a job late nor hide that it is.
func TestLateJobs(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	byHand := func(d time.Duration) []time.Duration { return series(d, d-3*time.Minute, 10*time.Second) }
	hourly := series(7*day, 5*time.Hour, time.Hour)
	for name, test := range map[string]struct {
		period time.Duration // of the starts
		starts []time.Duration
		byHand []time.Duration
		every  time.Duration
		late   bool
	}{
		"three by hand":             {0, []time.Duration{300 * day, 300*day - 10*time.Second, 300*day - 20*time.Second}, nil, 0, false},
		"many by hand":              {0, byHand(300 * day), nil, 0, false},
		"too young":                 {0, series(3*day, day/2, time.Hour), nil, 0, false},
		"hourly, over":              {0, hourly, nil, time.Hour, true},
		"hourly, and by hand":       {0, hourly, byHand(4 * time.Hour), time.Hour, true},
		"hourly, by hand just now":  {0, hourly, byHand(10 * time.Minute), time.Hour, false},
		"hourly, on time":           {0, series(7*day, time.Hour, time.Hour), nil, time.Hour, false},
		"daily":                     {0, series(12*day, day+time.Hour, day), nil, day, false},
		"daily, over":               {0, series(12*day, 3*day, day), nil, day, true},
		"daily, after an outage":    {0, append(series(16*day, 12*day, day), series(8*day, 3*day, day)...), nil, day, true},
		"on working days":           {0, []time.Duration{17 * day, 14 * day, 13 * day, 12 * day, 11 * day, 10 * day, 7 * day, 6 * day, 5 * day, 4 * day, 3 * day}, nil, 3 * day, false},
		"deployments":               {0, []time.Duration{29 * day, 28 * day, 25 * day, 25*day - 5*time.Hour, 20 * day, 19*day + 7*time.Hour, 17 * day, 11 * day, 4 * day}, nil, 0, false},
		"a schedule":                {time.Hour, []time.Duration{time.Hour}, nil, time.Hour, false},
		"a schedule, over":          {time.Hour, []time.Duration{4 * time.Hour, 3 * time.Hour}, nil, time.Hour, true},
		"a schedule, over, by hand": {time.Hour, []time.Duration{4 * time.Hour, 3 * time.Hour}, byHand(10 * time.Minute), time.Hour, true},
		"terms of an election":      {-1, series(12*day, 3*day, day), nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			w := newWriter(t, store, journal.Options{Every: time.Millisecond})
			runs(w, "n", test.period, test.starts...)
			runs(w, "n", 0, test.byHand...)
			flush(t, w)
			j := jobsByName(t, store)["n"]
			if (j.Every-test.every).Abs() > time.Minute || j.Late() != test.late {
				t.Errorf("got every %v, late %v, want %v, %v", j.Every, j.Late(), test.every, test.late)
			}
		})
	}
}

// A run is too long by the usual duration of the job. Those that fail do not count, and a term of
// an election has none.
func TestJobsThatRunTooLong(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	for name, every := range map[string]time.Duration{"usual": 0, "hangs": 0, "leads": -1, "expected": 0} {
		runs(w, name, every, 5*time.Hour, 4*time.Hour, 3*time.Hour)
		w.Note(journal.Entry{Event: journal.Started, Name: name, At: ago(2 * time.Hour), Every: every})
		w.Note(journal.Entry{Event: journal.Ended, Name: name, At: ago(time.Hour), Held: time.Hour, Code: 1})
	}
	w.Note(journal.Entry{Event: journal.Started, Name: "usual", At: ago(3 * time.Minute)})
	w.Note(journal.Entry{Event: journal.Started, Name: "hangs", At: ago(5 * time.Minute)})
	w.Note(journal.Entry{Event: journal.Started, Name: "leads", At: ago(50 * time.Minute), Every: -1})
	w.Note(journal.Entry{Event: journal.Started, Name: "expected", At: ago(50 * time.Minute), Expect: time.Hour})
	w.Note(journal.Entry{Event: journal.Started, Name: "unexpected", At: ago(61 * time.Minute), Expect: time.Hour})
	flush(t, w)
	for name, want := range map[string]journal.JobState{"usual": journal.JobRunning, "hangs": journal.JobTooLong, "leads": journal.JobRunning, "expected": journal.JobRunning, "unexpected": journal.JobTooLong} {
		if j := jobsByName(t, store)[name]; j.State(true) != want || (j.Usual == 0) != (name == "leads" || name == "unexpected") {
			t.Errorf("%s: got %s, usually %v, want %s", name, j.State(true), j.Usual, want)
		}
	}
}

// Of runs that overlap the one that started last counts: the end of an older one is none of it.
func TestOverlappingRuns(t *testing.T) {
	t.Parallel()
	store := open(t)
	a, b := newWriter(t, store, journal.Options{Owner: "a"}), newWriter(t, store, journal.Options{Owner: "b"})
	note := func(w *journal.Writer, e journal.Entry) {
		e.Name = "n"
		w.Note(e)
		flush(t, w)
	}
	note(a, journal.Entry{Event: journal.Started, Token: 1, At: ago(3 * time.Minute)})
	note(b, journal.Entry{Event: journal.Started, Token: 2, At: ago(2 * time.Minute)})
	note(a, journal.Entry{Event: journal.Ended, Token: 1, At: ago(time.Minute), Held: time.Minute})
	if j := jobsByName(t, store)["n"]; !j.Unended() || j.Owner != "b" || j.Succeeded.IsZero() {
		t.Errorf("got %+v, want that b runs, and that a succeeded", j)
	}
	note(b, journal.Entry{Event: journal.Ended, Token: 2, Held: time.Minute, Code: 7})
	if j := jobsByName(t, store)["n"]; j.Unended() || j.Code != 7 {
		t.Errorf("got %+v, want the end of b", j)
	}
	note(a, journal.Entry{Event: journal.Ended, Token: 3, Held: time.Minute}) // its start was dropped
	if j := jobsByName(t, store)["n"]; j.Unended() || j.Code != 0 || j.Owner != "a" || time.Since(j.Started) > 90*time.Second {
		t.Errorf("got %+v, want the run of a", j)
	}
}

// A job can be forgotten, and is known again when it runs.
func TestForgetJob(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond, Owner: "a"})
	runs(w, "old", 0, time.Hour)
	runs(w, "other", 0, time.Hour)
	flush(t, w)
	for _, want := range []bool{true, false} {
		j, err := journal.Forget(t.Context(), store, "", "old")
		if err != nil || (j != nil) != want || want && (j.Owner != "a" || j.Took != time.Minute || time.Since(j.Started) < 59*time.Minute) {
			t.Errorf("got %+v, %v, want a job: %v", j, err, want)
		}
	}
	if jobs := jobsByName(t, store); len(jobs) != 1 || jobs["other"].Took != time.Minute {
		t.Errorf("got %+v, want the other", jobs)
	}
	runs(w, "old", 0, 2*time.Minute)
	flush(t, w)
	if len(jobsByName(t, store)) != 2 {
		t.Error("its next run did not make it known again")
	}
	store.jobs.Store(true)
	store.breaks(errors.New("connection refused"))
	if _, err := journal.Forget(t.Context(), store, "", "other"); err == nil {
		t.Error("it was forgotten by a server that does not answer")
	}
}

// There are never many more than a thousand jobs: those go that were tried longest ago.
func TestJobsAreCapped(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond, Batch: 1000})
	for i := range 1110 {
		w.Note(journal.Entry{Event: journal.Skipped, Name: fmt.Sprintf("j%d", i), At: time.Now().Add(time.Duration(i)*time.Millisecond - time.Hour)})
	}
	flush(t, w)
	jobs, _, err := journal.Jobs(t.Context(), store, "")
	if err != nil || len(jobs) != 1000 {
		t.Fatalf("got %d, %v, want 1000", len(jobs), err)
	}
	for _, j := range jobs {
		if j.Name == "j9" || j.Name == "j109" || j.Skipped != 1 {
			t.Errorf("got %+v, want that the oldest are gone", j)
		}
	}
}

// A note that comes twice, because an answer was lost, counts once.
func TestJobNotesTwice(t *testing.T) {
	t.Parallel()
	store := open(t)
	store.jobs.Store(true)
	store.after.Store(true)
	store.breaks(errors.New("connection reset"))
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
	until(t, "it was tried three times", func() bool { return store.calls.Load() >= 3 })
	store.mends()
	flush(t, w)
	jobs, _, err := journal.Jobs(t.Context(), store, "")
	if err != nil || len(jobs) != 1 || jobs[0].Skipped != 1 {
		t.Errorf("got %+v, %v, want one skip", jobs, err)
	}
}

// A record that no Writer wrote does not keep a Writer from writing, and is replaced.
func TestRecordOfAnotherProgram(t *testing.T) {
	t.Parallel()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	for _, record := range []string{"junk", strings.Repeat("junk ", 17) + "owner", "1 1 1 1 0 1 0 w 1 junk c 0 0 0 1 , , owner",
		"9000000000000000 0 0 1 0 1 0 w 1 0 c 0 0 0 1 0 0 owner", // in the year 2255
		"1 1 1 9000000000000000 0 1 0 w 1 0 c 0 0 0 1 0 0 owner", "1 9000000000000000 1 1 0 1 0 w 1 0 c 0 0 0 1 0 0 owner",
		"1 1 1 1 0 1 0 w 1 0 c 0 9000000000000000 0 1 0 0 owner", "1 1 1 1 0 1 0 w 1 0 c 0 -1 0 1 0 0 owner",
		"1 1 1 1 0 1 0 w 1 0 c 1000000000000000 0 0 1 0 0 owner", "1 1 1 1 0 1 0 w 1 0 c -2 0 0 1 0 0 owner"} { // a period of 31 years
		if _, err := store.Do("HSET", "holdfast/jobs:holdfast:", "nightly", record); err != nil {
			t.Fatal(err)
		}
		w := newWriter(t, store, journal.Options{Every: time.Millisecond})
		runs(w, "nightly", 0, time.Hour)
		flush(t, w)
		jobs, _, err := journal.Jobs(t.Context(), store, "")
		if err != nil || len(jobs) != 1 || jobs[0].Unended() || jobs[0].Succeeded.IsZero() {
			t.Errorf("after %q: got %+v, %v", record, jobs, err)
		}
	}
}

// Jobs that the server refuses for good cost no entry of the journal, and write none twice.
func TestJobsRefused(t *testing.T) {
	t.Parallel()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if _, err := store.Do("SET", "holdfast/jobs:holdfast:", "of another program"); err != nil {
		t.Fatal(err)
	}
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	for range 3 {
		runs(w, "nightly", 0, time.Hour)
		flush(t, w)
	}
	entries, err := store.Do("XLEN", "holdfast/journal:holdfast:")
	if err != nil || fmt.Sprint(entries) != "6" {
		t.Errorf("got %v entries, %v, want 6", entries, err)
	}
}
