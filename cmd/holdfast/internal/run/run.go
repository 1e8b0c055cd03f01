// Package run is 'holdfast run': it runs a command while it holds a lock.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/guard"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/help"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/signals"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/take"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// Command is 'holdfast run'.
func Command(a *cli.App) *cobra.Command {
	var o take.Options
	var cmd *cobra.Command
	cmd = a.Command("run [flags] NAME -- COMMAND [ARG...]", "Run a command while holding a lock", nil, func(ctx context.Context, args []string) error {
		if o.Guard != "" {
			return guard.Main(o.Guard, args)
		}
		if err := o.Check(cmd.Flags().Changed); err != nil {
			return err
		}
		if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
			return cli.Usagef("want: holdfast run NAME -- COMMAND [ARG...]")
		}
		status, err := newStatusFile(o.Status, args[0])
		if err != nil {
			return err
		}
		return status.ended(a, runUnderLock(ctx, a, o, args[0], args[1:], status))
	})
	cmd.Annotations = map[string]string{help.MostUsed: "no-wait wait busy-code ttl max-hold min-hold every shared exclusive of"}
	flags := cmd.Flags()
	flags.BoolVarP(&o.NoWait, "no-wait", "n", false, "do not wait: exit with 75 if the lock is held")
	flags.DurationVarP(&o.Wait, "wait", "w", 0, "wait at most this long, then exit with 75")
	flags.DurationVar(&o.Every, "every", 0, "run once per `PERIOD`, on one of all machines; at most 744h")
	flags.StringVar(&o.At, "at", "", "`TIME` of a tick of --every: an offset from midnight UTC such as 10m, or a moment such as 2026-01-05T03:10:00+02:00")
	flags.DurationVar(&o.MinHold, "min-hold", 0, "keep the lock at least this long, even if the command is quicker")
	flags.DurationVar(&o.MaxHold, "max-hold", 0, "stop the command after this long, exit with 124")
	o.Kind.Flags(flags)
	flags.StringVar(&o.Steal.Tenure, "steal", "", "take the lock from the holder with this `HASH`, before all waiters")
	flags.StringVar(&o.Steal.Reason, "reason", "", "`TEXT` for the old holder, with --steal")
	o.LeaseFlags(flags)
	o.Details.ExpectFlag(flags)
	flags.IntVarP(&o.BusyCode, "busy-code", "E", cli.ExitTempFail, "exit code if the lock is held, or the tick of --every has begun")
	take.JournalFlag(flags, &o.Silent)
	flags.StringVar(&o.Status, "status-file", "", "`FILE` for the state and the result, as JSON")
	flags.StringVar(&o.Guard, "guard", "", "")
	if err := flags.MarkHidden("guard"); err != nil {
		panic("holdfast: " + err.Error())
	}
	return cmd
}

// runUnderLock takes the name, runs the command, and gives the name back when
// nothing of the command is alive any more. Its error carries the exit code.
func runUnderLock(ctx context.Context, a *cli.App, o take.Options, name string, argv []string, status *statusFile) error {
	if err := FindCommand(argv[0]); err != nil {
		return err
	}
	caught := signals.Catch()
	defer signal.Stop(caught)
	ctx, waited := signals.Until(ctx, caught)
	narrator := take.NewNarrator(a)
	log := &take.JobLog{A: a, Name: name, Silent: o.Silent, Every: o.Every, Expect: o.Details.Expect}
	client, err := take.Open(ctx, a, &o, narrator, holdfast.Options{TTL: o.TTL, WaitReplicas: o.Replicas, OnEvent: narrator.Event, Details: o.Details.Of(argv)}, log.Open)
	if err != nil {
		return cmp.Or(waited(), err)
	}
	defer client.Close()
	defer narrator.Outage.End()
	began := time.Now()
	hold := func(lease *holdfast.Lease) guard.Ending {
		log.Started(client, lease)
		status.granted(a, client.Owner(), lease)
		return UnderLease(a, lease, o, argv, Env(o, client.Client, lease), caught, narrator)
	}
	run := runLocked
	if o.Every > 0 {
		run = runTick
	}
	end, released, err := run(ctx, a, client, name, o, narrator.Outage, waited, hold)
	if err != nil {
		log.Skipped(err, time.Since(began))
		return err
	}
	status.over(end, released)
	narrator.End(released == nil && a.Verbose)
	result := Conclude(a, name, o, end, released)
	log.Ended(result)
	return result
}

// runLocked takes the name, calls hold, and gives the name back. An error: hold was not
// called.
func runLocked(ctx context.Context, a *cli.App, client *connect.Session, name string, o take.Options, outage *take.Outage, waited func() error, hold func(*holdfast.Lease) guard.Ending) (end guard.Ending, released, err error) {
	lease, err := take.Acquire(ctx, a, client, name, o, outage)
	if came := waited(); came != nil {
		if lease != nil {
			_ = lease.Release() // the signal ends all messages
		}
		return end, nil, came
	}
	if err != nil {
		return end, nil, err
	}
	end = hold(lease)
	return end, lease.Release(), nil
}

// UnderLease runs the command while the lease lasts. When it returns nothing of the
// command is alive any more.
func UnderLease(a *cli.App, lease *holdfast.Lease, o take.Options, argv, env []string, caught chan os.Signal, narrator *take.Narrator) (end guard.Ending) {
	began := guard.Now()
	job, err := guard.Start(a, lease.Name(), argv, env)
	if err != nil {
		return guard.Ending{Err: fmt.Errorf("cannot start a guard process: %w", err)}
	}
	signals.RefuseStop(caught)
	s := supervisor{lease: lease, job: job, grace: o.Grace, say: a.Say, late: narrator.Outage.Overdue}
	if o.MaxHold > 0 {
		s.maxHold = began.Add(o.MaxHold)
	}
	end = s.watch(caught)
	end.Asked = s.asked
	narrator.Outage.End() // from here on its cost counts
	return end
}

// Conclude turns the end of a command, and what its release said, into an exit
// code. A lost lease counts more than the command's own code: code 0 of a
// command that was not alone must not look like success.
func Conclude(a *cli.App, name string, o take.Options, end guard.Ending, released error) error {
	switch {
	case end.Err != nil:
		return end.Err
	case end.Lost != nil && lossOf(end.Lost) == string(holdfast.MaxHold):
		return cli.Exit(cli.ExitMaxHold, fmt.Errorf("the command ran for %s (--max-hold) and was stopped", console.Duration(o.MaxHold)))
	case end.Lost != nil:
		return cli.Exit(cli.ExitLost, fmt.Errorf("lost %s (%s): the command was stopped", name, lossOf(end.Lost)))
	case errors.Is(released, holdfast.ErrLost):
		return cli.Exit(cli.ExitLost, fmt.Errorf("lost %s (%s) before the command ended with code %d: another process may have held the lock too", name, lossOf(released), end.Code))
	case released != nil:
		a.Say("the command has ended, but %s may stay locked until its ttl ends: Redis did not answer (%s)", name, cli.Why(released))
	}
	if end.Code == 0 {
		return nil
	}
	return cli.Exit(end.Code, nil)
}

// lossOf says in a few words how a lease was lost.
func lossOf(err error) string {
	var lost *holdfast.LostError
	switch {
	case !errors.As(err, &lost) || lost.Cause == holdfast.Expired:
		return "no renewal was answered in time"
	case lost.Cause == holdfast.Gone && lost.Reason == "":
		return "gone: the key was deleted or lost"
	case lost.Cause == holdfast.Taken && lost.Reason == "":
		return "taken: another process has the lock"
	}
	return inspect.CauseText(lost.Cause, lost.Reason)
}

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

// outcome returns the error that the record gets for a run that ended like this.
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

// FindCommand returns an error if a command cannot be run. It is called before the wait for the
// lock.
func FindCommand(command string) error {
	_, err := exec.LookPath(command)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrDot):
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("%s: found in the current directory only; to run it, use ./%s", command, command))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("%s: not found", command))
	}
	return cli.Exit(cli.ExitNotExecutable, fmt.Errorf("cannot run %s: %w", command, errors.Unwrap(err)))
}

// Env returns our environment for a command, with the variables that describe the lease. Those
// of an outer lock come first and so have no effect: package exec uses the last of each name.
func Env(o take.Options, client *holdfast.Client, lease *holdfast.Lease) []string {
	outer := os.Environ()
	if !o.PassURL {
		outer = cli.WithoutPasswords(outer)
	}
	return append(slices.Clip(outer),
		"HOLDFAST_NAME="+lease.Name(),
		"HOLDFAST_OWNER="+client.Owner(),
		"HOLDFAST_CLIENT="+client.ID(),
		"HOLDFAST_TOKEN="+strconv.FormatInt(lease.Token(), 10),
	)
}
