//go:build unix

package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// serve gives the metrics of jobs, as commands on a real server have left them.
func TestServeJobs(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	aJobOfEachState(t, server.url())
	wantJobs(t, scraped(t, server.url(), "--no-alert", "quiet*"))
}

// aJobOfEachState makes a job in each state: by commands, or by entries for what takes hours.
func aJobOfEachState(t *testing.T, url string) {
	t.Helper()
	leader := startElect(t, url, "sleep 60", "--value", "10.0.0.4:80")
	leader.says("elected: 10.0.0.4:80 leads job")
	until(t, "the journal has its start", func() bool {
		var shown strings.Builder
		return runInProcess(t.Context(), &shown, io.Discard, "jobs", "job", "--redis", url) == 0 && strings.Contains(shown.String(), " running ")
	})
	for range 3 {
		if err := command("run", "hand", "--redis", url, "--", "true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	if err := command("run", "fails", "--redis", url, "--", "false").Run(); err == nil {
		t.Fatal("run: got no error, want exit code 1")
	}
	if err := command("run", "quiet:1", "--redis", url, "--", "true").Run(); err != nil {
		t.Fatal(err)
	}

	store, err := rueidisstore.Open(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	writer := journal.NewWriter(store, nil)
	client := holdfast.New(store, nil)
	t.Cleanup(func() { client.Close() })
	lease, err := client.Mutex("hangs").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	note := func(e journal.Entry, name string, ago time.Duration) {
		e.Name, e.At = name, time.Now().Add(-ago)
		writer.Note(e)
	}
	for i := range 4 {
		at := time.Duration(4-i) * time.Hour
		note(journal.Entry{Event: journal.Started, Token: int64(i), Client: client.ID()}, "hangs", at)
		if i < 3 {
			note(journal.Entry{Event: journal.Ended, Token: int64(i), Held: time.Second}, "hangs", at-time.Second)
		}
	}
	note(journal.Entry{Event: journal.Started, Token: 9, Client: "0123456789"}, "killed", 2*time.Second)
	note(journal.Entry{Event: journal.Started, Every: time.Hour}, "hourly", 3*time.Hour)
	note(journal.Entry{Event: journal.Ended, Held: 90 * time.Second}, "hourly", 2*time.Hour)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lease.Err(); err != nil {
		t.Fatal(err)
	}
}

// wantJobs checks the metrics of those jobs.
func wantJobs(t *testing.T, page string) {
	t.Helper()
	for _, want := range []string{
		`holdfast_jobs_up 1`,
		`holdfast_jobs{state="running"} 1`, `holdfast_jobs{state="too long"} 1`, `holdfast_jobs{state="no end"} 1`,
		`holdfast_jobs{state="failed"} 1`, `holdfast_jobs{state="late"} 1`, `holdfast_jobs{state="ok"} 2`,
		`holdfast_job_running{name="job"} 1`, `holdfast_job_running{name="hangs"} 1`, `holdfast_job_running{name="hand"} 0`, `holdfast_job_running{name="killed"} 0`,
		`holdfast_job_late{name="hourly"} 1`, `holdfast_job_late{name="hand"} 0`,
		`holdfast_job_too_long{name="hangs"} 1`, `holdfast_job_too_long{name="job"} 0`,
		`holdfast_job_last_exit{class="ok",name="hand"} 1`, `holdfast_job_last_exit{class="failed",name="fails"} 1`, `holdfast_job_last_exit{class="no end",name="killed"} 1`,
		`holdfast_job_last_duration_seconds{name="hourly"} 90`,
	} {
		if !strings.Contains(page, "\n"+want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for _, want := range []string{`holdfast_job_last_start_timestamp_seconds{name="job"} `, `holdfast_job_last_success_timestamp_seconds{name="hand"} `} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for _, unwanted := range []string{`holdfast_job_last_exit{class="ok",name="fails"}`, `last_success_timestamp_seconds{name="fails"}`, `name="quiet:1"`} {
		if strings.Contains(page, unwanted) {
			t.Errorf("/metrics has %s", unwanted)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "holdfast_job") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}
