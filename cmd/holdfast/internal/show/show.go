// Package show is 'holdfast ls', show, jobs and history: what was and is.
package show

import (
	"context"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/look"
	"github.com/spf13/cobra"
)

// ShowCommand is 'holdfast show'.
func ShowCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the holder, the waiters and the problems of a lock",
		Long: `Show the holder of a lock, how long the lease lasts, the waiters in order, and the
problems. A free name is an answer, not an error.

FIELDS
"tokens up to" is the highest token reserved, not the token of the lease: a process
reserves a block of tokens for its renewals and turns. A command of 'holdfast run' has
its own token in HOLDFAST_TOKEN.

"why" explains the state of the name: a code, a sentence, and what to do. The journal
says how long a mutex is usually held, if it has at least three holds of the name. Only 'holdfast
ls' finds a deadlock between processes, because it reads all names.

"last run" is the newest run of 'run --every', Client.Once or Client.OnceEvery.

A name in cool-down was released before its --min-hold had passed. It is not held, and
not free yet.

A lease from 'holdfast acquire', or by request from 'holdfast serve', is shown with the
process that took it, until a program takes it over with Client.Adopt. The output says
that no process renews it. Redis stores that fact for the newest 32 such leases of each
process; an older lease is shown as if its process renewed it.

JSON OUTPUT
-o json prints an object:

` + look.FieldsHelp + `

  last_run      of run --every and Once, if a run is stored: owner, token, began,
                ended (null: not yet), outcome ("done", or the error), and tick
                with --every`,
		Example: `  holdfast show nightly
  holdfast show nightly -o json | jq -r .holder.owner`,
		Args: cli.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), a, args[0])
		},
	}
	a.OutputFlag(cmd)
	return cmd
}

func show(ctx context.Context, a *cli.App, name string) error {
	client, err := connect.Open(ctx, a, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	state, err := look.At(ctx, a, client, name)
	if err != nil {
		return err
	}
	if a.Output == "json" {
		return console.PrintJSON(a.Stdout, state.JSON())
	}
	look.PrintState(a.Page(), state)
	return nil
}
