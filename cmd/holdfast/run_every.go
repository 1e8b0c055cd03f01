package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
)

// runTick is runLocked for the nearest tick of a schedule.
func runTick(ctx context.Context, a *app, client *session, name string, o runOptions, _ *outage, waited func() error, hold func(*holdfast.Lease) ending) (end ending, released, err error) {
	var came, own error
	began := false
	err = client.OnceEvery(ctx, name, o.every, o.tick, func(_ context.Context, lease *holdfast.Lease) error {
		began = true
		if came = waited(); came == nil {
			end = hold(lease)
			own = outcome(end)
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

// outcome is what is remembered of a run that ended so.
func outcome(e ending) error {
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
	text := errors.New(view.Text(strings.TrimPrefix(err.Error(), "holdfast: ")))
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
		return heldBy(said, "held by "+cmp.Or(late.Owner, "(not holdfast)"))
	}
	return heldBy(said, "not due")
}
