// Package lease is 'holdfast acquire', renew, check and release. A lease of acquire needs no
// process: a text renews, checks and releases it.
package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/signals"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/take"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// longestLease bounds what is read as a lease: a name of 512 bytes makes one of 1 kB.
const longestLease = 64 << 10

// leaseOptions are the flags of those commands that take a lease.
type leaseOptions struct {
	file     string
	replicas int
}

// aLease is the lease itself and where it is from.
type aLease struct {
	text string
	from string
	code int    // of the error that it is not whole
	file string // it is from; empty: from elsewhere
}

// leaseCommand is a command that does something with one lease.
func leaseCommand(a *cli.App, use, short string, with []connect.Beside, do func(context.Context, *connect.Session, aLease) error) (*cobra.Command, *leaseOptions) {
	o := &leaseOptions{}
	var cmd *cobra.Command
	cmd = a.Command(use, short, cli.Args(0, 1, "at most one LEASE"), func(_ context.Context, args []string) error {
		return onLease(a, cmd, *o, args, with, do)
	})
	cmd.Flags().StringVar(&o.file, "lease-file", "", "read the lease from `FILE`")
	a.OutputFlag(cmd)
	return cmd, o
}

// RenewCommand is 'holdfast renew'.
func RenewCommand(a *cli.App) *cobra.Command {
	cmd, o := leaseCommand(a, "renew [LEASE]", "Extend a lease from 'acquire'", nil, func(ctx context.Context, client *connect.Session, l aLease) error {
		hold, err := client.RenewExported(ctx, l.text)
		return printHold(a, hold, err)
	})
	cmd.Flags().IntVar(&o.replicas, "wait-replicas", 0, "wait until `N` replicas have the renewal; N is the number of all replicas that can become master")
	return cmd
}

// CheckCommand is 'holdfast check'.
func CheckCommand(a *cli.App) *cobra.Command {
	cmd, _ := leaseCommand(a, "check [LEASE]", "Report whether a lease is held, and for how long", nil, func(ctx context.Context, client *connect.Session, l aLease) error {
		hold, err := client.CheckExported(ctx, l.text)
		return printHold(a, hold, err)
	})
	return cmd
}

// ReleaseCommand is 'holdfast release'.
func ReleaseCommand(a *cli.App) *cobra.Command {
	log := &take.JobLog{A: a}
	cmd, _ := leaseCommand(a, "release [LEASE]", "Release a lease from 'acquire'", []connect.Beside{log.Open}, func(ctx context.Context, client *connect.Session, l aLease) error {
		return giveBack(ctx, a, client, l)
	})
	take.JournalFlag(cmd.Flags(), &log.Silent)
	return cmd
}

// onLease finds the lease, connects, and does it.
func onLease(a *cli.App, cmd *cobra.Command, o leaseOptions, args []string, with []connect.Beside, do func(context.Context, *connect.Session, aLease) error) error {
	if o.replicas < 0 || o.replicas > holdfast.MaxWaitReplicas {
		return cli.Usagef("--wait-replicas is %d: it must be from 0 to %d", o.replicas, holdfast.MaxWaitReplicas)
	}
	if len(args) > 0 && a.OnCommandLine(cmd, "lease-file") {
		return cli.Usagef("the argument and --lease-file exclude each other; want one LEASE")
	}
	l, err := theLease(a, o, args)
	if err != nil {
		return err
	}
	client, err := connect.Open(cmd.Context(), a, holdfast.Options{WaitReplicas: o.replicas}, with...)
	if err != nil {
		return err
	}
	defer client.Close()
	err = do(cmd.Context(), client, l)
	if errors.Is(err, holdfast.ErrExport) {
		return cli.Exit(l.code, fmt.Errorf("%s is not a lease of 'holdfast acquire', or is incomplete, or is of another --prefix", l.from))
	}
	return err
}

// theLease is the lease of the argument, the file or the variable.
func theLease(a *cli.App, o leaseOptions, args []string) (aLease, error) {
	var text []byte
	var err error
	l := aLease{code: cli.ExitUsage}
	switch {
	case len(args) > 0 && args[0] != "-":
		l.text, l.from = args[0], "the argument"
		return l, nil
	case len(args) > 0 || o.file == "-":
		l.from = "stdin"
		text, err = io.ReadAll(io.LimitReader(a.Stdin, longestLease))
	case o.file != "":
		l.from, l.code, l.file = o.file, cli.ExitConfig, o.file
		text, err = readLeaseFile(o.file)
	default:
		l.text, l.from = os.Getenv("HOLDFAST_LEASE"), "HOLDFAST_LEASE"
		if l.text == "" {
			err = cli.Usagef("no LEASE; want it as an argument, in --lease-file or in HOLDFAST_LEASE")
		}
		return l, err
	}
	if err != nil {
		return l, cli.Exit(cli.ExitConfig, err)
	}
	l.text = strings.TrimSpace(string(text))
	return l, nil
}

func readLeaseFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, longestLease))
}

// printHold prints the state of a lease, also that it has ended.
func printHold(a *cli.App, hold *holdfast.ExportedHold, err error) error {
	var lost *holdfast.LostError
	switch {
	case errors.As(err, &lost):
		out := leaseJSON{Lease: view.Lease{Name: lost.Name, Token: lost.Token}, Cause: string(lost.Cause), Reason: lost.Reason}
		return cmp.Or(a.PrintJSON(out), leaseOver(lost))
	case err != nil:
		return err
	case a.Output == "json":
		return console.PrintJSON(a.Stdout, leaseJSON{Lease: view.NewLease("", hold), Held: true})
	}
	waiting := ""
	if hold.Waiting > 0 {
		waiting = fmt.Sprintf("; %s in the queue", console.Several(hold.Waiting, "waiter"))
	}
	_, err = fmt.Fprintf(a.Stdout, "%s is held for %s more%s\n", view.Text(hold.Name), console.Age(hold.Remaining), waiting)
	return err
}

func leaseOver(lost *holdfast.LostError) error {
	return cli.Exit(cli.ExitLost, fmt.Errorf("the lease of %s has ended (%s)", lost.Name, inspect.CauseText(lost.Cause, lost.Reason)))
}

// giveBack releases, and takes away the file where the lease was.
func giveBack(ctx context.Context, a *cli.App, client *connect.Session, l aLease) error {
	err := client.ReleaseExported(ctx, l.text)
	var lost *holdfast.LostError
	over := errors.As(err, &lost)
	if err != nil && !over {
		return err
	}
	if l.file != "" {
		if bad := os.Remove(l.file); bad != nil {
			a.Say("%v", bad)
		}
	}
	out := struct {
		Released bool   `json:"released"`
		Cause    string `json:"cause"`
		Reason   string `json:"reason"`
	}{Released: !over}
	if !over {
		return a.PrintJSON(out)
	}
	out.Cause, out.Reason = string(lost.Cause), lost.Reason
	return cmp.Or(a.PrintJSON(out), leaseOver(lost))
}

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
	var cmd *cobra.Command
	cmd = a.Command("acquire NAME", "Take a lock, print a lease, and end", cli.OneName, func(ctx context.Context, args []string) error {
		if err := o.Check(cmd.Flags().Changed); err != nil {
			return err
		}
		return acquireLease(ctx, a, o, args[0])
	})
	flags := cmd.Flags()
	flags.BoolVarP(&o.NoWait, "no-wait", "n", false, "do not wait: exit with 75 if the lock is held")
	flags.DurationVarP(&o.Wait, "wait", "w", 0, "wait at most this long, then exit with 75")
	flags.DurationVar(&o.TTL, "ttl", defaultAcquireTTL, "time until the lease ends, unless renewed")
	flags.IntVar(&o.Replicas, "wait-replicas", 0, "wait until `N` replicas have the lock; N is the number of all replicas that can become master")
	flags.IntVarP(&o.BusyCode, "busy-code", "E", cli.ExitTempFail, "exit code if the lock is held")
	o.Details.Flags(flags)
	o.Details.ExpectFlag(flags)
	flags.StringVar(&o.file, "lease-file", "", "write the lease to `FILE` with mode 0600, not to stdout")
	take.JournalFlag(flags, &o.Silent)
	a.OutputFlag(cmd, "env")
	return cmd
}

// details is what others see of the process that took the name. It has ended by then.
func (o *acquireOptions) details() *holdfast.Details {
	details := holdfast.ProcessDetails()
	if o.Details.None() { // stored all the same: they say that no process renews the lease
		return &holdfast.Details{Parent: details.Parent, Within: details.Within, Expect: o.Details.Expect}
	}
	details.PID, details.Program, details.Note, details.Expect = 0, "holdfast acquire", o.Details.Note, o.Details.Expect
	return details
}

// acquireLease takes the name and prints the lease, by which scripts renew and release it. If
// it cannot print the lease, it releases the name.
func acquireLease(ctx context.Context, a *cli.App, o acquireOptions, name string) error {
	if err := tryLeaseFile(o.file); err != nil {
		return err
	}
	caught := signals.Catch()
	defer signal.Stop(caught)
	ctx, waited := signals.Until(ctx, caught)
	narrator := take.NewNarrator(a)
	log := &take.JobLog{A: a, Name: name, Silent: o.Silent}
	client, err := take.Open(ctx, a, &o.Options, narrator, holdfast.Options{
		TTL: o.TTL, WaitReplicas: o.Replicas, OnEvent: narrator.Event, Details: o.details(),
	}, log.Open)
	if err != nil {
		return cmp.Or(waited(), err)
	}
	defer client.Close()
	defer narrator.Outage.End()
	lease, err := take.Acquire(ctx, a, client, name, o.Options, narrator.Outage)
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
		err = handOut(a, o, client.ID(), text, hold)
	}
	if err != nil {
		_ = client.ReleaseExported(context.Background(), text)
		return err
	}
	a.Detail("%s is held for %s, with token %d", name, console.Duration(hold.Remaining), hold.Token)
	return nil
}

// handOut prints the lease, or puts it into the file.
func handOut(a *cli.App, o acquireOptions, client, text string, hold *holdfast.ExportedHold) error {
	if o.file != "" {
		if err := writeLeaseFile(o.file, text); err != nil {
			return err
		}
		text = ""
	}
	switch a.Output {
	case "json":
		return console.PrintJSON(a.Stdout, leaseJSON{Lease: view.NewLease(text, hold), Held: true})
	case "env":
		return printEnv(a, o, client, text, hold)
	}
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(a.Stdout, text)
	return err
}

// printEnv prints what a shell can eval.
func printEnv(a *cli.App, o acquireOptions, client, text string, hold *holdfast.ExportedHold) error {
	variables := [][2]string{{"LEASE", text}}
	if o.file != "" {
		variables = [][2]string{{"LEASE_FILE", o.file}}
	}
	variables = append(variables, [2]string{"NAME", hold.Name}, [2]string{"CLIENT", client}, [2]string{"TOKEN", fmt.Sprint(hold.Token)})
	var b strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&b, "export HOLDFAST_%s='%s'\n", v[0], strings.ReplaceAll(v[1], "'", `'\''`))
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// leaseJSON is what -o json prints of a lease without a process. Its names are promised.
type leaseJSON struct {
	view.Lease
	Held   bool   `json:"held"`
	Cause  string `json:"cause"`
	Reason string `json:"reason"`
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
