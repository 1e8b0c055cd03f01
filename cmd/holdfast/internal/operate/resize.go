package operate

import (
	"context"
	"strconv"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/spf13/cobra"
)

// ResizeCommand is 'holdfast resize'.
func ResizeCommand(a *cli.App) *cobra.Command {
	return a.Command("resize NAME SIZE", "Change the number of permits of a semaphore", cli.Args(2, 2, "a NAME and a SIZE"), func(ctx context.Context, args []string) error {
		size, err := strconv.Atoi(args[1])
		if err != nil || size < 1 || size > holdfast.MaxSize {
			return cli.Usagef("SIZE is %s: it must be a whole number from 1 to %d", args[1], holdfast.MaxSize)
		}
		return connect.On(ctx, a, func(client *connect.Session) error {
			return resize(ctx, a, client, args[0], size)
		})
	})
}

func resize(ctx context.Context, a *cli.App, client *connect.Session, name string, size int) error {
	if err := client.Semaphore(name, size).Resize(ctx, size); err != nil {
		return err
	}
	state, err := client.Admin.Inspect(ctx, name)
	switch {
	case err != nil:
		return err
	case state.Kind != holdfast.KindSemaphore:
		a.Say("%s has %s, none are held", name, console.Several(size, "permit"))
	case state.Used > state.Size:
		a.Say("%s now has %s, and %d are held: no caller gets one until %d are returned", name, console.Several(state.Size, "permit"), state.Used, state.Used-state.Size+1)
	default:
		a.Say("%s: %s are held", name, inspect.UseText(state))
	}
	return nil
}
