package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// checkEvery says what is wrong with --every and --at, and reads the latter.
func (o *runOptions) checkEvery(given func(flag string) bool) (err error) {
	switch {
	case given("at") && !given("every"):
		return usagef("--at needs --every PERIOD")
	case !given("every"):
		return nil
	case o.every < time.Millisecond || o.every > holdfast.MaxMinHold || o.every%time.Millisecond != 0:
		return usagef("--every is %v: it must be whole milliseconds, up to %s", o.every, age(holdfast.MaxMinHold))
	case o.wait > 0:
		return usagef("--every and --wait exclude each other: a start that is not due is skipped")
	case o.minHold > 0:
		return usagef("--every and --min-hold exclude each other: a tick begins once, even if the command is quick")
	case o.kind != kindOptions{permits: 1}:
		return usagef("--every and --shared, --exclusive, --of exclude each other: a schedule needs a mutex")
	}
	o.tick, err = tickAt(o.at, o.every)
	return err
}

// tickAt reads --at: a moment at which there is a tick.
func tickAt(text string, every time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 || d >= every {
			return time.Time{}, usagef("--at is %s: it must be from 0 to less than --every, which is %v", text, every)
		}
		return time.UnixMicro(0).Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--at is %q: want a duration, such as 10m, or a moment, such as 2026-01-05T03:10:00Z", text)
	}
	return at, nil
}

// runTick is runLocked for the nearest tick of a schedule.
func (a *app) runTick(ctx context.Context, client *session, name string, o runOptions, _ *outage, waited func() error, hold func(*holdfast.Lease) ending) (end ending, released, err error) {
	var came, own error
	began := false
	err = client.OnceEvery(ctx, name, o.every, o.tick, func(_ context.Context, lease *holdfast.Lease) error {
		began = true
		if came = waited(); came == nil {
			end = hold(lease)
			own = end.outcome()
			return own
		}
		return holdfast.Retryable(errors.New("a signal came before the command began"))
	})
	if !began {
		came = waited()
	}
	var lost *holdfast.LostError
	switch {
	case came != nil:
		return end, nil, came
	case !began && err == nil:
		return end, nil, errors.New("the lease ended before the command began")
	case !began:
		return end, nil, a.notBegun(err, o)
	case errors.As(err, &lost):
		return end, lost, nil
	case err == own: //nolint:errorlint // nothing is joined to it
		return end, nil, nil
	}
	return end, err, nil
}

// outcome is what is remembered of a run.
func (e ending) outcome() error {
	switch {
	case e.err != nil:
		return e.err
	case e.lost != nil:
		return errors.New("stopped: " + lossOf(e.lost))
	case e.code != 0:
		return fmt.Errorf("exit code %d", e.code)
	}
	return nil
}

// notBegun says why a tick was not begun here. Its error carries the exit code.
func (a *app) notBegun(err error, o runOptions) error {
	text := errors.New(visible(strings.TrimPrefix(err.Error(), "holdfast: ")))
	var late *holdfast.NotDueError
	switch {
	case errors.Is(err, holdfast.ErrSchedule):
		return exitWith(exitUsage, text)
	case !errors.As(err, &late):
		return withFlags(err)
	}
	a.busy = true
	said := exitWith(o.busyCode, text)
	if o.busyCode == 0 { // to skip is fine, so this is no error
		a.say("%v", text)
		said = exitWith(0, nil)
	}
	switch {
	case late.TickBegun: // as it should be: the journal has that run, and this is no skip
		return said
	case late.Running:
		return &busyErr{said, "held by " + cmp.Or(late.Owner, "(not holdfast)")}
	}
	return &busyErr{said, "not due"}
}
