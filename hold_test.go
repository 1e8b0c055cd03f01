package holdfast_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// Mistakes of the program panic, and say what is allowed.
func TestHoldOutOfRange(t *testing.T) {
	client := holdfast.New(refusing{func(driver.Call) string { return "ERR no" }}, nil)
	defer func() { _ = client.Close() }()
	lock := func(least, most time.Duration) func() {
		return func() {
			mutex := client.Mutex("n")
			mutex.MinHold, mutex.MaxHold = least, most
			_, _ = mutex.TryLock(t.Context())
		}
	}
	stop := func(lock func(grace time.Duration)) map[string]func() {
		return map[string]func(){"below 0": func() { lock(-1) }, "above the ttl": func() { lock(holdfast.DefaultTTL + 1) }}
	}
	for what, fs := range map[string]map[string]func(){
		"Mutex.Grace": stop(func(grace time.Duration) {
			m := client.Mutex("n")
			m.Grace = grace
			_, _ = m.TryLock(t.Context())
		}),
		"Mutex.Grace beside a TTL": stop(func(grace time.Duration) {
			m := client.Mutex("n")
			m.TTL, m.Grace = holdfast.DefaultTTL, grace
			_, _ = m.TryLock(t.Context())
		}),
		"Semaphore.Grace": stop(func(grace time.Duration) {
			s := client.Semaphore("n", 1)
			s.Grace = grace
			_, _ = s.TryAcquire(t.Context(), 1)
		}),
		"RWMutex.Grace": stop(func(grace time.Duration) {
			m := client.RWMutex("n")
			m.Grace = grace
			_, _ = m.TryRLock(t.Context())
		}),
		"Election.Grace": stop(func(grace time.Duration) {
			e := client.Election("n")
			e.Grace = grace
			_, _ = e.Campaign(t.Context(), "v")
		}),
	} {
		for how, f := range fs {
			panics(t, what+" "+how, f)
		}
	}
	once := func(interval time.Duration) func() {
		return func() {
			_ = client.Once(t.Context(), "n", interval, func(context.Context, *holdfast.Lease) error { return nil })
		}
	}
	for what, f := range map[string]func(){
		"MinHold below 0": lock(-1, 0), "MaxHold below 0": lock(0, -1), "MinHold too long": lock(holdfast.MaxMinHold+1, 0),
		"no interval": once(0), "interval too long": once(holdfast.MaxMinHold + 1),
		"Retryable of nil": func() { _ = holdfast.Retryable(nil) },
	} {
		panics(t, what, f)
	}
	lock(holdfast.MaxMinHold, 0)()
	once(holdfast.MaxMinHold)()
}

// panics wants f to panic with the package's name.
func panics(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "holdfast: ") {
			t.Errorf("%s: got %q, want a panic", what, got)
		}
	}()
	f()
}

// A person can read why something did not run.
func TestNotDueErrorText(t *testing.T) {
	began := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	run := &holdfast.Run{Owner: "ci-7", Began: began, Ended: began.Add(83 * time.Second), Outcome: holdfast.Done}
	for _, test := range []struct {
		e    holdfast.NotDueError
		want string
	}{
		{holdfast.NotDueError{Name: "n", Owner: "ci-7", DueIn: 20 * time.Minute, Last: run},
			"holdfast: n is not due: it is due again in 20m0s; the newest run began 2026-11-21T03:00:00Z on ci-7, took 1m23s: done"},
		{holdfast.NotDueError{Name: "n", Running: true, Owner: "ci-7", Last: &holdfast.Run{Owner: "ci-7", Began: began}},
			"holdfast: n is not due: it is running on ci-7; the newest run began 2026-11-21T03:00:00Z on ci-7, has not ended"},
		{holdfast.NotDueError{Name: "n", Running: true}, "holdfast: n is not due: it is running"},
		{holdfast.NotDueError{Name: "n", Running: true, Owner: "ci-8", DueIn: time.Minute, Last: run},
			"holdfast: n is not due: its name is held by ci-8; the newest run began 2026-11-21T03:00:00Z on ci-7, took 1m23s: done"},
		{holdfast.NotDueError{Name: "n", Running: true, Owner: "ci-7", DueIn: time.Hour, Last: run, TickBegun: true},
			"holdfast: n is not due: it is due again in 1h0m0s; the newest run began 2026-11-21T03:00:00Z on ci-7, took 1m23s: done"},
	} {
		if got := test.e.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	rests := &holdfast.TenureError{Name: "n", Tenure: "0123456789", Owner: "ci-7", Cooldown: true, Remaining: time.Minute}
	if got, want := rests.Error(), "holdfast: n is not held by tenure 0123456789: it is in cool-down until MinHold has passed after the hold of ci-7, in 1m0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&holdfast.HeldError{Name: "n", Owner: "ci-7", Cooldown: true, Remaining: time.Minute}).Error(), "holdfast: n is in cool-down after ci-7, for 1m0s more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
