// Package show is 'holdfast ls', show, jobs, history and watch: it prints the state of names
// and what happened to them.
package show

import (
	"context"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/spf13/cobra"
)

// Command is 'holdfast show'.
func Command(a *cli.App) *cobra.Command {
	cmd := a.Command("show NAME", "Show the holder, the waiters and the problems of a lock", cli.OneName, func(ctx context.Context, args []string) error {
		return connect.On(ctx, a, func(client *connect.Session) error { return show(ctx, a, client, args[0]) })
	})
	a.OutputFlag(cmd)
	return cmd
}

func show(ctx context.Context, a *cli.App, client *connect.Session, name string) error {
	state, err := inspect.At(ctx, a, client, name)
	if err != nil {
		return err
	}
	if err := a.Print(state.JSON(), func(s console.Screen) { inspect.PrintState(s, state) }); err != nil {
		return err
	}
	return inspect.OnReplica(ctx, client, state)
}
