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
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// electOptions are the flags of `holdfast elect`.
type electOptions struct {
	runOptions
	value   string
	once    bool
	observe bool
}

func (a *app) electCommand() *cobra.Command {
	var o electOptions
	cmd := &cobra.Command{
		Use:     "elect [flags] NAME -- COMMAND [ARG...]",
		Short:   "Keep one instance of a command running on many machines",
		Long:    electHelp,
		Example: electExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			if err := o.check(given); err != nil {
				return err
			}
			if o.observe {
				return a.observeArgs(cmd, args)
			}
			if a.onCommandLine(cmd, "output") {
				return usagef("-o needs --observe")
			}
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return usagef("want: holdfast elect NAME -- COMMAND [ARG...]")
			}
			return a.elect(cmd.Context(), o, args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.value, "value", "", "`TEXT` that others see of the leader, such as its address (default the owner)")
	flags.BoolVar(&o.once, "once", false, "end after the first term, with the exit codes of run")
	flags.BoolVar(&o.observe, "observe", false, "run nothing: print the leader of NAME, and each change")
	o.leaseFlags(flags)
	journalFlag(flags, &o.silent)
	a.outputFlag(cmd)
	return cmd
}

// elect runs the command in one term after the other. Its error carries the exit
// code.
func (a *app) elect(ctx context.Context, o electOptions, name string, argv []string) error {
	if err := findCommand(argv[0]); err != nil {
		return err
	}
	caught := catchSignals()
	defer signal.Stop(caught)
	told := a.newNarrator()
	log := &jobLog{a: a, name: name, silent: o.silent}
	waiting, waited := untilSignal(ctx, caught)
	client, err := a.connect(waiting, holdfast.Options{TTL: o.ttl, WaitReplicas: o.replicas, OnEvent: told.event, Details: o.details.of(argv)}, log.open)
	if err != nil {
		return cmp.Or(waited(), err)
	}
	defer client.Close()
	defer told.outage.end()
	o.value = cmp.Or(o.value, client.Owner())
	var rest breather
	for {
		lease, err := a.campaign(waiting, client.Election(name), client, o, told)
		if came := waited(); came != nil {
			if lease != nil {
				_ = lease.Release() // the signal ends all messages
			}
			return came
		}
		if err != nil {
			return err
		}
		began := time.Now()
		log.started(lease.Token())
		end, released := a.term(client, lease, o, argv, caught, told)
		result := a.conclude(name, o.runOptions, end, released)
		log.ended(result)
		if o.once || end.asked || end.err != nil {
			told.end(released == nil && a.verbose)
			return result
		}
		pause := rest.after(time.Since(began), end)
		a.sayTermOver(result, end, released, pause)
		told.outage.again()
		waiting, waited = untilSignal(ctx, caught)
		sleep(waiting, pause)
	}
}

// campaign waits until we lead. Where it can't say whether another does, it goes
// on, but for the first term of --once.
func (a *app) campaign(ctx context.Context, election *holdfast.Election, client *session, o electOptions, told *narrator) (*holdfast.Lease, error) {
	for {
		stop := func() {}
		if !a.quiet {
			stop = a.showWait(ctx, client, election.Name(), told.outage)
		}
		lease, err := election.Campaign(ctx, o.value)
		stop()
		passes := errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrTooSlow) || errors.Is(err, holdfast.ErrReplicas)
		if !passes || o.once || ctx.Err() != nil {
			return lease, err
		}
		told.outage.failed(err, 0)
		sleep(ctx, time.Second)
	}
}

// term runs the command while we lead, and resigns.
func (a *app) term(client *session, lease *holdfast.Lease, o electOptions, argv []string, caught chan os.Signal, told *narrator) (ending, error) {
	a.say("elected: %s leads %s, term %d", o.value, lease.Name(), lease.Token())
	env := append(commandEnv(os.Environ(), client.Owner(), lease), "HOLDFAST_VALUE="+o.value)
	end := a.runUnderLease(lease, o.runOptions, argv, env, caught, told)
	return end, lease.Release()
}

// sayTermOver says why a term is over after which another is wanted.
func (a *app) sayTermOver(result error, end ending, released error, pause time.Duration) {
	next := "campaigning again"
	if pause > 0 {
		next += " in " + age(pause)
	}
	switch {
	case result == nil:
		a.say("the command ended with code 0; resigned, %s", next)
	case end.lost == nil && !errors.Is(released, holdfast.ErrLost):
		a.say("the command ended with code %d; resigned, %s", end.code, next)
	default:
		a.say("%s; %s", a.explain(result), next)
	}
}

// breather is how long to wait before the next term: not at all after a loss,
// longer and longer while the command does not last.
type breather struct{ pause time.Duration }

const (
	leastBreath = time.Second
	mostBreath  = 30 * time.Second
)

func (b *breather) after(lasted time.Duration, end ending) time.Duration {
	if end.lost != nil {
		return 0
	}
	b.pause = min(2*b.pause, mostBreath)
	if b.pause == 0 || lasted > mostBreath {
		b.pause = leastBreath
	}
	return b.pause
}

// observeArgs is --observe, which takes a NAME and no command.
func (a *app) observeArgs(cmd *cobra.Command, args []string) error {
	for _, flag := range []string{"value", "once", "ttl", "grace", "wait-replicas"} {
		if a.onCommandLine(cmd, flag) {
			return usagef("--observe and --%s exclude each other", flag)
		}
	}
	if len(args) != 1 || cmd.ArgsLenAtDash() >= 0 {
		return usagef("--observe wants one NAME and no command")
	}
	return a.observe(cmd.Context(), args[0])
}

// leaderText is "10.0.0.3:8080 leads, term 3741...", for people.
func leaderText(l holdfast.Leader) string {
	switch {
	case l.None():
		return "no leader"
	case l.Foreign:
		return "(not holdfast) holds it"
	case l.Term == 0:
		return fmt.Sprintf("%s holds it", cmp.Or(view.Text(l.Value), "(no value)"))
	}
	return fmt.Sprintf("%s leads, term %d", cmp.Or(view.Text(l.Value), "(no value)"), l.Term)
}
