// Package elect is 'holdfast elect': it runs a command while this machine leads, or
// prints the leader.
package elect

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
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/run"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/signals"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/take"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// options are the flags of `holdfast elect`.
type options struct {
	take.Options
	value   string
	once    bool
	observe bool
}

// Command is 'holdfast elect'.
func Command(a *cli.App) *cobra.Command {
	var o options
	var cmd *cobra.Command
	cmd = a.Command("elect [flags] NAME -- COMMAND [ARG...]", "Keep one instance of a command running on many machines", nil, func(ctx context.Context, args []string) error {
		if err := o.Check(cmd.Flags().Changed); err != nil {
			return err
		}
		switch {
		case o.observe:
			return observeArgs(a, cmd, args)
		case a.OnCommandLine(cmd, "output"):
			return cli.Usagef("-o needs --observe")
		case cmd.ArgsLenAtDash() != 1 || len(args) < 2:
			return cli.Usagef("want: holdfast elect NAME -- COMMAND [ARG...]")
		}
		return elect(ctx, a, o, args[0], args[1:])
	})
	flags := cmd.Flags()
	flags.StringVar(&o.value, "value", "", "`TEXT` that others see of the leader, such as its address (default the owner)")
	flags.BoolVar(&o.once, "once", false, "end after the first term, with the exit codes of run")
	flags.BoolVar(&o.observe, "observe", false, "run nothing: print the leader of NAME, and each change")
	o.LeaseFlags(flags)
	take.JournalFlag(flags, &o.Silent)
	a.OutputFlag(cmd)
	return cmd
}

// elect runs the command in one term after the other. Its error carries the exit
// code.
func elect(ctx context.Context, a *cli.App, o options, name string, argv []string) error {
	if err := run.FindCommand(argv[0]); err != nil {
		return err
	}
	caught := signals.Catch()
	defer signal.Stop(caught)
	narrator := take.NewNarrator(a)
	log := &take.JobLog{A: a, Name: name, Silent: o.Silent, Every: -1} // a term has no schedule
	waiting, waited := signals.Until(ctx, caught)
	o.Endless = !o.once
	client, err := take.Open(waiting, a, &o.Options, narrator, holdfast.Options{TTL: o.TTL, WaitReplicas: o.Replicas, OnEvent: narrator.Event, Details: o.Details.Of(argv)}, log.Open)
	if err != nil {
		return cmp.Or(waited(), err)
	}
	defer client.Close()
	defer narrator.Outage.End()
	o.value = cmp.Or(o.value, client.Owner())
	var rest backoff
	for {
		lease, err := campaign(waiting, a, client.Election(name), client, o, narrator)
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
		log.Started(client, lease)
		end, released := term(a, client, lease, o, argv, caught, narrator)
		result := run.Conclude(a, name, o.Options, end, released)
		log.Ended(result)
		if o.once || end.Asked || end.Err != nil {
			narrator.End(released == nil && a.Verbose)
			return result
		}
		pause := rest.after(time.Since(began), end)
		sayTermOver(a, result, end, released, pause)
		narrator.Outage.Again()
		waiting, waited = signals.Until(ctx, caught)
		cli.Sleep(waiting, pause)
	}
}

// campaign waits until we lead. While Redis does not answer it continues, except before the
// first term of --once.
func campaign(ctx context.Context, a *cli.App, election *holdfast.Election, client *connect.Session, o options, narrator *take.Narrator) (*holdfast.Lease, error) {
	for {
		stop := take.ShowWait(ctx, a, client, election.Name(), narrator.Outage)
		lease, err := election.Campaign(ctx, o.value)
		stop()
		passes := errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrTooSlow) || errors.Is(err, holdfast.ErrReplicas)
		if !passes || o.once || ctx.Err() != nil {
			return lease, err
		}
		narrator.Outage.Failed(err, 0)
		cli.Sleep(ctx, time.Second)
	}
}

// term runs the command while we lead, and resigns.
func term(a *cli.App, client *connect.Session, lease *holdfast.Lease, o options, argv []string, caught chan os.Signal, narrator *take.Narrator) (guard.Ending, error) {
	a.Say("elected: %s leads %s, term %d", o.value, lease.Name(), lease.Token())
	env := append(run.Env(o.Options, client.Client, lease), "HOLDFAST_VALUE="+o.value)
	end := run.UnderLease(a, lease, o.Options, argv, env, caught, narrator)
	return end, lease.Release()
}

// sayTermOver says why a term is over after which another is wanted.
func sayTermOver(a *cli.App, result error, end guard.Ending, released error, pause time.Duration) {
	next := "campaigning again"
	if pause > 0 {
		next += " in " + console.Age(pause)
	}
	switch {
	case result == nil:
		a.Say("the command ended with code 0; resigned, %s", next)
	case end.Lost == nil && !errors.Is(released, holdfast.ErrLost):
		a.Say("the command ended with code %d; resigned, %s", end.Code, next)
	default:
		a.Say("%s; %s", a.Explain(result), next)
	}
}

// backoff is how long to wait before the next term: not at all after a loss,
// longer and longer while the command does not last.
type backoff struct{ pause time.Duration }

const (
	minBackoff = time.Second
	maxBackoff = 30 * time.Second
)

func (b *backoff) after(lasted time.Duration, end guard.Ending) time.Duration {
	if end.Lost != nil {
		return 0
	}
	b.pause = min(2*b.pause, maxBackoff)
	if b.pause == 0 || lasted > maxBackoff {
		b.pause = minBackoff
	}
	return b.pause
}

// observeArgs is --observe, which takes a NAME and no command.
func observeArgs(a *cli.App, cmd *cobra.Command, args []string) error {
	for _, flag := range []string{"value", "once", "ttl", "grace", "wait-replicas"} {
		if a.OnCommandLine(cmd, flag) {
			return cli.Usagef("--observe and --%s exclude each other", flag)
		}
	}
	if len(args) != 1 || cmd.ArgsLenAtDash() >= 0 {
		return cli.Usagef("--observe wants one NAME and no command")
	}
	return observe(cmd.Context(), a, args[0])
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

// sightJSON is what an observer saw, a line of --observe -o json. Its names are
// promised.
type sightJSON struct {
	At     time.Time   `json:"at"`
	Name   string      `json:"name"`
	Leader *leaderJSON `json:"leader"`
	Error  *string     `json:"error"`
}

type leaderJSON struct {
	Value       string `json:"value"`
	Term        int64  `json:"term"`
	Hash        string `json:"hash"`
	Foreign     bool   `json:"foreign"`
	RemainingMS *int64 `json:"remaining_ms"`
}

// observe prints the leader, until a signal, an error that does not pass, or the end of
// the reader.
func observe(ctx context.Context, a *cli.App, name string) error {
	ctx, cancel := cli.UntilUnread(ctx, a.Stdout)
	defer cancel()
	client, err := connect.Open(ctx, a, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	for leader, err := range client.Election(name).Observe(ctx) {
		if err != nil && !errors.Is(err, holdfast.ErrUnreachable) {
			return err
		}
		if err := printSight(a, name, leader, err); cli.Unread(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func printSight(a *cli.App, name string, leader holdfast.Leader, unknown error) error {
	now := time.Now()
	if a.Output == "json" {
		return console.PrintJSONLine(a.Stdout, newSightJSON(now, name, leader, unknown))
	}
	if unknown != nil {
		a.Say("leader unknown: %s; retrying", cli.Why(unknown))
		return nil
	}
	_, err := fmt.Fprintf(a.Stdout, "%s  %s\n", now.Format(time.DateTime), leaderText(leader))
	return err
}

func newSightJSON(now time.Time, name string, leader holdfast.Leader, unknown error) sightJSON {
	out := sightJSON{At: now.UTC(), Name: name}
	switch {
	case unknown != nil:
		out.Error = new(cli.Why(unknown))
	case !leader.None():
		out.Leader = &leaderJSON{Value: leader.Value, Term: leader.Term, Hash: leader.Hash, Foreign: leader.Foreign}
		if leader.Remaining >= 0 {
			out.Leader.RemainingMS = new(leader.Remaining.Milliseconds())
		}
	}
	return out
}
