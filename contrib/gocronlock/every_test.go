package gocronlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/embedded"
)

// With Every a tick begins once, and the record says how its run ended.
func TestLockerEvery(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a, b := holdfast.New(store, nil), holdfast.New(store, nil)
	defer a.Close()
	defer b.Close()
	hourly := &gocronlock.Options{Every: time.Hour}
	mine, theirs := gocronlock.NewLocker(a, hourly), gocronlock.NewLocker(b, hourly)
	lock, err := mine.Lock(t.Context(), "report")
	if err != nil {
		t.Fatal(err)
	}
	notDue := func(running bool) *holdfast.Run {
		t.Helper()
		_, err := theirs.Lock(t.Context(), "report")
		late, ok := errors.AsType[*holdfast.NotDueError](err)
		if !ok || late.Running != running || late.Last == nil {
			t.Fatalf("Lock: got %v, want that it is not due, running: %v", err, running)
		}
		return late.Last
	}
	if run := notDue(true); !run.Ended.IsZero() {
		t.Errorf("got %v, want a run that has not ended", run)
	}
	broken := errors.New("broken")
	task := mine.Task("report", func(context.Context, *holdfast.Lease) error { return broken })
	if err := task(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Task: got %v, want the job's own error", err)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Errorf("Unlock: got %v, want nil", err)
	}
	if run := notDue(false); run.Outcome != "failed: broken" || run.Tick.IsZero() {
		t.Errorf("got %+v, want a run that failed", run)
	}
}
