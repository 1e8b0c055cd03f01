// Package run is 'holdfast run': it runs a command while it holds a lock.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/guard"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/help"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/look"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/signals"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/take"
	"github.com/spf13/cobra"
)

// Command is 'holdfast run'.
func Command(a *cli.App) *cobra.Command {
	var o take.Options
	cmd := &cobra.Command{
		Use:   "run [flags] NAME -- COMMAND [ARG...]",
		Short: "Run a command while holding a lock",

		Annotations: map[string]string{help.MostUsed: "no-wait wait busy-code ttl max-hold min-hold every shared exclusive of"},
		RunE: func(cmd *cobra.Command, args []string) error {
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
			return status.ended(a, runUnderLock(cmd.Context(), a, o, args[0], args[1:], status))
		},
	}
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
	told := take.NewNarrator(a)
	log := &take.JobLog{A: a, Name: name, Silent: o.Silent}
	client, err := connect.Open(ctx, a, holdfast.Options{TTL: o.TTL, WaitReplicas: o.Replicas, OnEvent: told.Event, Details: o.Details.Of(argv)}, log.Open)
	if err != nil {
		return cmp.Or(waited(), err)
	}
	defer client.Close()
	defer told.Outage.End()
	began := time.Now()
	hold := func(lease *holdfast.Lease) guard.Ending {
		log.Started(lease.Token())
		status.granted(a, client.Owner(), lease)
		return UnderLease(a, lease, o, argv, Env(os.Environ(), client.Owner(), lease), caught, told)
	}
	run := runLocked
	if o.Every > 0 {
		run = runTick
	}
	end, released, err := run(ctx, a, client, name, o, told.Outage, waited, hold)
	if err != nil {
		log.Skipped(err, time.Since(began))
		return err
	}
	status.over(end, released)
	told.End(released == nil && a.Verbose)
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
func UnderLease(a *cli.App, lease *holdfast.Lease, o take.Options, argv, env []string, caught chan os.Signal, told *take.Narrator) (end guard.Ending) {
	began := guard.Now()
	job, err := guard.Start(a, lease.Name(), argv, env)
	if err != nil {
		return guard.Ending{Err: fmt.Errorf("cannot start a guard process: %w", err)}
	}
	signals.RefuseStop(caught)
	s := supervisor{lease: lease, job: job, grace: o.Grace, say: a.Say, late: told.Outage.Overdue}
	if o.MaxHold > 0 {
		s.most = began.Add(o.MaxHold)
	}
	end = s.watch(caught)
	end.Asked = s.asked
	told.Outage.End() // from here on its cost counts
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
	return look.CauseText(lost.Cause, lost.Reason)
}
