package server_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
)

// list is a field of an answer, by what name tells of each of its elements.
func (r reply) list(field, name string) (all []string) {
	values, _ := r.body[field].([]any)
	for _, v := range values {
		text, _ := v.(map[string]any)[name].(string)
		all = append(all, text)
	}
	return all
}

// History and jobs are those of the journal, by name and by prefix, as many as wanted.
func TestHistoryAndJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t)
		writer := journal.NewWriter(store, &journal.Options{Owner: "cron"})
		client := holdfast.New(store, &holdfast.Options{Owner: "cron", OnEvent: writer.OnEvent, Logger: quietLog()})
		w := serveOn(t, client, nil)
		for _, field := range []string{"entries", "jobs"} {
			path := map[string]string{"entries": "/v1/history", "jobs": "/v1/jobs"}[field]
			if empty := w.want(path, w.ask("GET", path, nil), http.StatusOK, ""); empty.text != `{"`+field+`":[],"unreadable":0}`+"\n" {
				t.Errorf("%s of nothing: %q", path, empty.text)
			}
		}
		for name, code := range map[string]int{"report": 0, "report/slow": 3, "other": 0} {
			lease, err := client.Mutex(name).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the event of the grant is written before the start
			writer.Note(journal.Entry{Event: journal.Started, Name: name, Owner: "cron", Token: lease.Token()})
			writer.Note(journal.Entry{Event: journal.Ended, Name: name, Owner: "cron", Token: lease.Token(), Code: code})
			if err := lease.Release(); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		w = serveOn(t, newClient(t, store), nil)
		if got := w.ask("GET", "/v1/history?name=report", nil).list("entries", "event"); !slices.Equal(got, []string{"released", "ended", "started", "granted"}) {
			t.Errorf("history of a name: %q", got)
		}
		if got := w.ask("GET", "/v1/history?prefix=report&limit=5", nil).list("entries", "name"); len(got) != 5 || slices.Contains(got, "other") {
			t.Errorf("history of a prefix: %q", got)
		}
		for query, want := range map[string][]string{
			"": {"other", "report", "report/slow"}, "?prefix=report": {"report", "report/slow"}, "?name=report": {"report"}, "?name=rep": nil,
			"?problems=true": {"report/slow"}, "?problems=true&prefix=o": nil,
		} {
			got := w.ask("GET", "/v1/jobs"+query, nil).list("jobs", "name")
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("jobs%s: %q, want %q", query, got, want)
			}
		}
		if got := w.ask("GET", "/v1/jobs?limit=1", nil).list("jobs", "state"); len(got) != 1 || got[0] != "failed" {
			t.Errorf("the first job: %q, want the failed one, which never succeeded", got)
		}
		time.Sleep(2 * time.Hour)
		if got := w.ask("GET", "/v1/history?since=1h", nil).list("entries", "name"); len(got) != 0 {
			t.Errorf("history of the last hour, after two: %q", got)
		}
		for _, path := range []string{"/v1/history?limit=0", "/v1/history?limit=1001", "/v1/history?since=yesterday", "/v1/history?problems=true", "/v1/jobs?since=1h", "/v1/jobs?problems=maybe", "/v1/jobs?x=1"} {
			w.want(path, w.ask("GET", path, nil), http.StatusBadRequest, "bad-request")
		}
	})
}

// Each event of a permit that was leased over HTTP has its kind: an audit must not take one for a
// mutex, which two cannot hold at once.
func TestHistoryOfAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t)
		writer := journal.NewWriter(store, nil)
		client := holdfast.New(store, &holdfast.Options{OnEvent: writer.OnEvent, Logger: quietLog()})
		w := serveOn(t, client, nil)
		for range 2 {
			lease := w.acquire(m{"name": "gpu", "of": 2})
			w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", lease.str("lease")), http.StatusNoContent, "")
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		got := serveOn(t, newClient(t, store), nil).ask("GET", "/v1/history?name=gpu", nil)
		if events := got.list("entries", "event"); len(events) != 6 {
			t.Errorf("events: %q", events)
		}
		for i, kind := range got.list("entries", "kind") {
			if kind != "semaphore" {
				t.Errorf("event %d has the kind %q: %s", i, kind, got.text)
			}
		}
	})
}
