package holdfast_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Mistakes of the program panic, and say what is allowed.
func TestHoldOutOfRange(t *testing.T) {
	client := holdfast.New(refusing{func(holdfast.Call) string { return "ERR no" }}, nil)
	defer func() { _ = client.Close() }()
	lock := func(least, most time.Duration) func() {
		return func() {
			mutex := client.Mutex("n")
			mutex.MinHold, mutex.MaxHold = least, most
			_, _ = mutex.TryLock(t.Context())
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
		"RunAgain of nil": func() { _ = holdfast.RunAgain(nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "holdfast: ") {
					t.Errorf("%s: got %q, want a panic", what, got)
				}
			}()
			f()
		}()
	}
	lock(holdfast.MaxMinHold, 0)()
	once(holdfast.MaxMinHold)()
}

// A person can read why something did not run.
func TestNotDueErrorText(t *testing.T) {
	began := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	run := &holdfast.Run{Owner: "ci-7", Began: began, Ended: began.Add(83 * time.Second), Outcome: holdfast.Done}
	for _, test := range []struct {
		e    holdfast.NotDueError
		want string
	}{
		{holdfast.NotDueError{Name: "n", Owner: "ci-7", Due: 20 * time.Minute, Last: run},
			"holdfast: n is not due for 20m0s; the newest run began 2026-11-21T03:00:00Z on ci-7, took 1m23s: done"},
		{holdfast.NotDueError{Name: "n", Running: true, Owner: "ci-7", Last: &holdfast.Run{Owner: "ci-7", Began: began}},
			"holdfast: n is not due: it is run by ci-7; the newest run began 2026-11-21T03:00:00Z on ci-7, has not ended"},
		{holdfast.NotDueError{Name: "n", Running: true}, "holdfast: n is not due: it is run"},
	} {
		if got := test.e.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	rests := &holdfast.TenureError{Name: "n", Tenure: "0123456789", Holder: &holdfast.Holder{Owner: "ci-7", Resting: true, Remaining: time.Minute}}
	if got, want := rests.Error(), "holdfast: n is not held by tenure 0123456789: nobody holds it, and nobody gets it until MinHold has passed after the hold of ci-7, in 1m0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&holdfast.HeldError{Name: "n", Owner: "ci-7", Resting: true, Remaining: time.Minute}).Error(), "holdfast: n rests after ci-7, for 1m0s more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
