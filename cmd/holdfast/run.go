package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/cobra"
)

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:     "run [flags] NAME -- COMMAND [ARG...]",
		Short:   "Run a command while holding a lock",
		Long:    runHelp,
		Example: runExample,

		Annotations: map[string]string{mostUsed: runMostUsed},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.guard != "" {
				return guardMain(o.guard, args)
			}
			if err := o.check(cmd.Flags().Changed); err != nil {
				return err
			}
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return usagef("want: holdfast run NAME -- COMMAND [ARG...]")
			}
			status, err := newStatusFile(o.status, args[0])
			if err != nil {
				return err
			}
			return status.ended(a, a.runUnderLock(cmd.Context(), o, args[0], args[1:], status))
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.noWait, "no-wait", "n", false, "do not wait: exit with 75 if the lock is held")
	flags.DurationVarP(&o.wait, "wait", "w", 0, "wait at most this long, then exit with 75")
	flags.DurationVar(&o.every, "every", 0, "run once per `PERIOD`, on one of all machines; at most 744h")
	flags.StringVar(&o.at, "at", "", "`TIME` of a tick of --every: an offset from midnight UTC such as 10m, or a moment such as 2026-01-05T03:10:00+02:00")
	flags.DurationVar(&o.minHold, "min-hold", 0, "keep the lock at least this long, even if the command is quicker")
	flags.DurationVar(&o.maxHold, "max-hold", 0, "stop the command after this long, exit with 124")
	o.kind.flags(flags)
	flags.StringVar(&o.steal.tenure, "steal", "", "take the lock from the holder with this `HASH`, before all waiters")
	flags.StringVar(&o.steal.reason, "reason", "", "`TEXT` for the old holder, with --steal")
	o.leaseFlags(flags)
	flags.IntVarP(&o.busyCode, "busy-code", "E", exitTempFail, "exit code if the lock is held, or the tick of --every has begun")
	journalFlag(flags, &o.silent)
	flags.StringVar(&o.status, "status-file", "", "`FILE` for the state and the result, as JSON")
	flags.StringVar(&o.guard, "guard", "", "")
	if err := flags.MarkHidden("guard"); err != nil {
		panic("holdfast: " + err.Error())
	}
	return cmd
}

// runUnderLock takes the name, runs the command, and gives the name back when
// nothing of the command is alive any more. Its error carries the exit code.
func (a *app) runUnderLock(ctx context.Context, o runOptions, name string, argv []string, status *statusFile) error {
	if err := findCommand(argv[0]); err != nil {
		return err
	}
	caught := catchSignals()
	defer signal.Stop(caught)
	ctx, waited := untilSignal(ctx, caught)
	told := a.newNarrator()
	log := &jobLog{a: a, name: name, silent: o.silent}
	client, err := a.connect(ctx, holdfast.Options{TTL: o.ttl, WaitReplicas: o.replicas, OnEvent: told.event, Details: o.details.of(argv)}, log.open)
	if err != nil {
		return cmp.Or(waited(), err)
	}
	defer client.Close()
	defer told.outage.end()
	began := time.Now()
	hold := func(lease *holdfast.Lease) ending {
		log.started(lease.Token())
		status.granted(a, client.Owner(), lease)
		return a.runUnderLease(lease, o, argv, commandEnv(os.Environ(), client.Owner(), lease), caught, told)
	}
	run := runLocked
	if o.every > 0 {
		run = runTick
	}
	end, released, err := run(ctx, a, client, name, o, told.outage, waited, hold)
	if err != nil {
		log.skipped(err, time.Since(began))
		return err
	}
	status.over(end, released)
	told.end(released == nil && a.verbose)
	result := a.conclude(name, o, end, released)
	log.ended(result)
	return result
}

// runLocked takes the name, calls hold, and gives the name back. An error: hold was not
// called.
func runLocked(ctx context.Context, a *app, client *session, name string, o runOptions, outage *outage, waited func() error, hold func(*holdfast.Lease) ending) (end ending, released, err error) {
	lease, err := a.acquire(ctx, client, name, o, outage)
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

// runUnderLease runs the command while the lease lasts. When it returns nothing of the
// command is alive any more.
func (a *app) runUnderLease(lease *holdfast.Lease, o runOptions, argv, env []string, caught chan os.Signal, told *narrator) (end ending) {
	began := clock()
	job, err := startJob(a, lease.Name(), argv, env)
	if err != nil {
		return ending{err: fmt.Errorf("cannot start a guard process: %w", err)}
	}
	refuseStop(caught)
	s := supervisor{lease: lease, job: job, grace: o.grace, say: a.say, late: told.outage.overdue}
	if o.maxHold > 0 {
		s.most = began.add(o.maxHold)
	}
	end = s.watch(caught)
	end.asked = s.asked
	told.outage.end() // from here on its cost counts
	return end
}

// conclude turns the end of a command, and what its release said, into an exit
// code. A lost lease counts more than the command's own code: code 0 of a
// command that was not alone must not look like success.
func (a *app) conclude(name string, o runOptions, end ending, released error) error {
	switch {
	case end.err != nil:
		return end.err
	case end.lost != nil && lossOf(end.lost) == string(holdfast.MaxHold):
		return exitWith(exitMaxHold, fmt.Errorf("the command ran for %s (--max-hold) and was stopped", duration(o.maxHold)))
	case end.lost != nil:
		return exitWith(exitLost, fmt.Errorf("lost %s (%s): the command was stopped", name, lossOf(end.lost)))
	case errors.Is(released, holdfast.ErrLost):
		return exitWith(exitLost, fmt.Errorf("lost %s (%s) before the command ended with code %d: another process may have held the lock too", name, lossOf(released), end.code))
	case released != nil:
		a.say("the command has ended, but %s may stay locked until its ttl ends: Redis did not answer (%s)", name, why(released))
	}
	if end.code == 0 {
		return nil
	}
	return exitWith(end.code, nil)
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
	return causeText(lost.Cause, lost.Reason)
}
