package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/signals"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/take"
	"github.com/spf13/cobra"
)

// defaultAcquireTTL is longer than that of run: nothing renews such a lease by itself.
const defaultAcquireTTL = time.Minute

// acquireOptions are the flags of `holdfast acquire`.
type acquireOptions struct {
	take.Options
	file string // where the lease goes; empty: stdout
}

// AcquireCommand is 'holdfast acquire'.
func AcquireCommand(a *cli.App) *cobra.Command {
	var o acquireOptions
	cmd := &cobra.Command{
		Use:   "acquire NAME",
		Short: "Take a lock, print a lease, and end",
		Args:  cli.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Check(cmd.Flags().Changed); err != nil {
				return err
			}
			return acquireLease(cmd.Context(), a, o, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.NoWait, "no-wait", "n", false, "do not wait: exit with 75 if the lock is held")
	flags.DurationVarP(&o.Wait, "wait", "w", 0, "wait at most this long, then exit with 75")
	flags.DurationVar(&o.TTL, "ttl", defaultAcquireTTL, "time until the lease ends, unless renewed")
	flags.IntVar(&o.Replicas, "wait-replicas", 0, "wait until `N` replicas have the lock; N is the number of all replicas that can become master")
	flags.IntVarP(&o.BusyCode, "busy-code", "E", cli.ExitTempFail, "exit code if the lock is held")
	flags.StringVar(&o.Details.Note, "note", "", "`TEXT` for 'holdfast show': a ticket, a team, a log")
	flags.BoolVar(&o.Details.None, "no-details", false, "do not store host, user and note for 'holdfast show'")
	flags.StringVar(&o.file, "lease-file", "", "write the lease to `FILE` with mode 0600, not to stdout")
	take.JournalFlag(flags, &o.Silent)
	flags.VarP(cli.NewChoice(&a.Output, "text", "json", "env"), "output", "o", "output format")
	return cmd
}

// tells is what others see of the process that took the name. It has ended by then.
func (o *acquireOptions) tells() *holdfast.Details {
	if o.Details.None {
		return &holdfast.Details{} // stored all the same: they say that no process renews the lease
	}
	details := holdfast.ProcessDetails()
	details.PID, details.Program, details.Note = 0, "holdfast acquire", o.Details.Note
	return details
}

// acquireLease takes the name and prints what renews and releases it. What can't be
// handed out is not kept.
func acquireLease(ctx context.Context, a *cli.App, o acquireOptions, name string) error {
	if err := tryLeaseFile(o.file); err != nil {
		return err
	}
	caught := signals.Catch()
	defer signal.Stop(caught)
	ctx, waited := signals.Until(ctx, caught)
	told := take.NewNarrator(a)
	log := &take.JobLog{A: a, Name: name, Silent: o.Silent}
	client, err := connect.Open(ctx, a, holdfast.Options{
		TTL: o.TTL, WaitReplicas: o.Replicas, OnEvent: told.Event, Details: o.tells(),
	}, log.Open)
	if err != nil {
		return cmp.Or(waited(), err)
	}
	defer client.Close()
	defer told.Outage.End()
	lease, err := take.Acquire(ctx, a, client, name, o.Options, told.Outage)
	if came := waited(); came != nil {
		if lease != nil {
			_ = lease.Release() // the signal ends all messages
		}
		return came
	}
	if err != nil {
		return err
	}
	text, err := lease.Export()
	if err != nil {
		_ = lease.Release()
		return err
	}
	hold, err := client.CheckExported(context.Background(), text)
	if err == nil {
		err = handOut(a, o, text, hold)
	}
	if err != nil {
		if client.ReleaseExported(context.Background(), text) == nil && hold != nil {
			log.GivenBack(hold)
		}
		return err
	}
	a.Detail("%s is held for %s, with token %d", name, console.Duration(hold.Remaining), hold.Token)
	return nil
}

// handOut prints the lease, or puts it into the file.
func handOut(a *cli.App, o acquireOptions, text string, hold *holdfast.ExportedHold) error {
	if o.file != "" {
		if err := writeLeaseFile(o.file, text); err != nil {
			return err
		}
		text = ""
	}
	switch a.Output {
	case "json":
		return console.PrintJSON(a.Stdout, newLeaseJSON(text, hold))
	case "env":
		return printEnv(a, o, text, hold)
	}
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(a.Stdout, text)
	return err
}

// printEnv prints what a shell can eval.
func printEnv(a *cli.App, o acquireOptions, text string, hold *holdfast.ExportedHold) error {
	variables := [][2]string{{"LEASE", text}}
	if o.file != "" {
		variables = [][2]string{{"LEASE_FILE", o.file}}
	}
	variables = append(variables, [2]string{"NAME", hold.Name}, [2]string{"TOKEN", fmt.Sprint(hold.Token)})
	var b strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&b, "export HOLDFAST_%s='%s'\n", v[0], strings.ReplaceAll(v[1], "'", `'\''`))
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// leaseJSON is what -o json prints of a lease without a process. Its names are promised.
type leaseJSON struct {
	Name        string     `json:"name"`
	Held        bool       `json:"held"`
	Lease       string     `json:"lease,omitempty"`
	Token       int64      `json:"token"`
	Owner       string     `json:"owner"`
	Hash        string     `json:"hash"`
	TTLMS       int64      `json:"ttl_ms"`
	RemainingMS int64      `json:"remaining_ms"`
	Deadline    *time.Time `json:"deadline"`
	Waiting     int        `json:"waiting"`
	Cause       string     `json:"cause"`
	Reason      string     `json:"reason"`
}

func newLeaseJSON(text string, hold *holdfast.ExportedHold) leaseJSON {
	return leaseJSON{
		Name: hold.Name, Held: true, Lease: text, Token: hold.Token, Owner: hold.Owner, Hash: hold.Hash,
		TTLMS: hold.TTL.Milliseconds(), RemainingMS: hold.Remaining.Milliseconds(),
		Deadline: new(time.Now().Add(hold.Remaining).UTC()), Waiting: hold.Waiting,
	}
}

// leaseFileMode keeps other users from reading the lease, and so from ending it.
const leaseFileMode = os.FileMode(0o600)

// tryLeaseFile finds out that a file can't be written before anything is waited for.
func tryLeaseFile(path string) error {
	switch path {
	case "":
		return nil
	case "-":
		return cli.Usagef("--lease-file -: only for reading; leave it out to print the lease on stdout")
	}
	probe, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return cli.Exit(cli.ExitConfig, fmt.Errorf("--lease-file: %w", err))
	}
	return nil
}

func writeLeaseFile(path, text string) error {
	if err := cli.ReplaceFile(path, []byte(text+"\n"), leaseFileMode); err != nil {
		return cli.Exit(cli.ExitConfig, fmt.Errorf("--lease-file: %w", err))
	}
	return nil
}
