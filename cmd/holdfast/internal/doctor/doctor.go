// Package doctor is 'holdfast doctor': it checks a server and prints the findings.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// Exit codes of doctor for its result.
const (
	ExitWarn = 1
	ExitFail = 2
)

// Command is 'holdfast doctor'.
func Command(a *cli.App) *cobra.Command {
	var ttl time.Duration
	cmd := a.Command("doctor", "Check whether a server is fit for locks", cli.NoArgs, func(ctx context.Context, _ []string) error {
		return check(ctx, a, ttl)
	})
	cmd.Flags().DurationVar(&ttl, "ttl", holdfast.DefaultTTL, "the ttl that your programs use")
	a.OutputFlag(cmd)
	return cmd
}

func check(ctx context.Context, a *cli.App, ttl time.Duration) error {
	if ttl < holdfast.MinTTL || ttl > holdfast.MaxTTL || ttl%time.Millisecond != 0 {
		return cli.Usagef("--ttl must be whole milliseconds from %v to %v, not %v", holdfast.MinTTL, console.Age(holdfast.MaxTTL), ttl)
	}
	checks, err := examine(ctx, a, ttl)
	if err != nil {
		return err
	}
	state := worstOf(checks)
	err = a.Print(resultJSON{state, checks}, func(s console.Screen) { printChecks(s, checks) })
	if err == nil && state != doctor.OK {
		err = cli.Exit(map[doctor.State]int{doctor.Warn: ExitWarn, doctor.Fail: ExitFail}[state], nil)
	}
	return err
}

// examine makes a finding of a server that does not answer, too. A wrong command
// line stays an error.
func examine(ctx context.Context, a *cli.App, ttl time.Duration) ([]doctor.Result, error) {
	client, err := connect.Open(ctx, a, holdfast.Options{TTL: ttl})
	if code := cli.CodeOf(err); code == cli.ExitUnreachable || code == cli.ExitNoPerm {
		return []doctor.Result{{
			Name: "connection", State: doctor.Fail, Finding: err.Error(), Consequence: "no name can be locked",
			Fix: "check that the server runs, and check the URL, password, TLS and firewalls",
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return doctor.Check(ctx, client.Store, &doctor.Options{Prefix: a.Prefix, TTL: ttl, Owner: a.Owner}), nil
}

// worstOf is the state for the exit code. An unknown result does not count: some servers
// never answer that question.
func worstOf(checks []doctor.Result) doctor.State {
	state := doctor.OK
	for _, c := range checks {
		if c.State == doctor.Fail || c.State == doctor.Warn && state == doctor.OK {
			state = c.State
		}
	}
	return state
}

func printChecks(s console.Screen, checks []doctor.Result) {
	colours := map[doctor.State]string{
		doctor.OK: console.Good, doctor.Warn: console.Warn, doctor.Fail: console.Bad, doctor.Unknown: console.Dim,
	}
	for _, c := range checks {
		s.Printf("%s  %-11s  %s\n", s.Paint(colours[c.State], fmt.Sprintf("%-7s", c.State)), c.Name, view.Text(c.Finding))
		if c.State == doctor.OK {
			continue
		}
		if c.Consequence != "" {
			s.Printf("%22s%s %s\n", "", s.Paint(console.Dim, "so:"), view.Text(c.Consequence))
		}
		if c.Fix != "" {
			s.Printf("%22s%s %s\n", "", s.Paint(console.Dim, "do:"), view.Text(c.Fix))
		}
	}
}

// resultJSON is what -o json prints. Its names are promised.
type resultJSON struct {
	State  doctor.State    `json:"state"`
	Checks []doctor.Result `json:"checks"`
}
