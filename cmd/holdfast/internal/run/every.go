package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/guard"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/take"
	"github.com/holdfast-go/holdfast/internal/view"
)

// runTick is runLocked for the nearest tick of a schedule.
func runTick(ctx context.Context, a *cli.App, client *connect.Session, name string, o take.Options, _ *take.Outage, waited func() error, hold func(*holdfast.Lease) guard.Ending) (end guard.Ending, released, err error) {
	var came, own error
	began := false
	err = client.OnceEvery(ctx, name, o.Every, o.Tick, func(_ context.Context, lease *holdfast.Lease) error {
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
		return end, nil, notBegun(a, err, o)
	case errors.As(err, &lost):
		return end, lost, nil
	case err == own: //nolint:errorlint // nothing is joined to it
		return end, nil, nil
	}
	return end, err, nil
}

// outcome is what is remembered of a run that ended so.
func outcome(e guard.Ending) error {
	switch {
	case e.Err != nil:
		return e.Err
	case e.Lost != nil:
		return errors.New("stopped: " + lossOf(e.Lost))
	case e.Code != 0:
		return fmt.Errorf("exit code %d", e.Code)
	}
	return nil
}

// notBegun says why a tick was not begun here. Its error carries the exit code.
func notBegun(a *cli.App, err error, o take.Options) error {
	text := errors.New(view.Text(strings.TrimPrefix(err.Error(), "holdfast: ")))
	var late *holdfast.NotDueError
	switch {
	case errors.Is(err, holdfast.ErrSchedule):
		return cli.Exit(cli.ExitUsage, text)
	case !errors.As(err, &late):
		return take.WithFlags(err)
	}
	a.Busy = true
	said := cli.Exit(o.BusyCode, text)
	if o.BusyCode == 0 { // to skip is fine, so this is no error
		a.Say("%v", text)
		said = cli.Exit(0, nil)
	}
	switch {
	case late.TickBegun: // as it should be: the journal has that run, and this is no skip
		return said
	case late.Running:
		return take.HeldBy(said, "held by "+cmp.Or(late.Owner, "(not holdfast)"))
	}
	return take.HeldBy(said, "not due")
}
