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

// Command is 'holdfast show'.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the holder, the waiters and the problems of a lock",
		Args:  cli.OneName,
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
	return a.Print(state.JSON(), func(s console.Screen) { look.PrintState(s, state) })
}
