package drivertest

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// survey inspects names of both kinds in pipelines, and shows the holders.
func survey(t *testing.T, s suite) {
	c := holdfast.New(s.open(t), &holdfast.Options{Prefix: s.prefix, Details: &holdfast.Details{User: "alice", Note: "ticket 7"}})
	t.Cleanup(func() { _ = c.Close() })
	lock(t, c.Mutex("survey:a"))
	if _, err := c.Semaphore("survey:b", 3).Acquire(bounded(t), 2); err != nil {
		t.Fatal(err)
	}
	other := s.client(t, 0)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		seen, err := admin.Of(other).Survey(bounded(t), "survey:", 0)
		if err != nil {
			t.Fatal(err)
		}
		counts := diagnose.Survey(seen, nil).Counts
		if n := len(seen.Names); n != 2 || counts.Held != 2 || seen.Names[1].Used != 2 {
			t.Fatalf("Survey: got %d names, %+v, want 2 that are held, the second a semaphore", n, counts)
		}
		a, b := seen.Names[0].Holder, seen.Names[1].Holder
		if a.Client != b.Client || a.Client == "" {
			t.Fatalf("Survey: got clients %q and %q, want one", a.Client, b.Client)
		}
		if a.Details != nil && b.Details != nil && *a.Details == (holdfast.Details{User: "alice", Note: "ticket 7"}) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("Survey: got details %+v and %+v, want those of alice", a.Details, b.Details)
		}
	}
}
