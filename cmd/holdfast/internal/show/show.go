// Package show is 'holdfast ls', show, jobs, history and watch: it prints the state of names
// and what happened to them.
package show

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// LsCommand is 'holdfast ls'.
func LsCommand(a *cli.App) *cobra.Command {
	var all, problems bool
	cmd := a.Command("ls [PREFIX]", "List locks that are held or waited for", cli.MaybeOne, func(ctx context.Context, args []string) error {
		return connect.On(ctx, a, func(client *connect.Session) error {
			return ls(ctx, a, client, strings.Join(args, ""), all, problems)
		})
	})
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list free names")
	cmd.Flags().BoolVar(&problems, "problems", false, "list only names with a problem")
	a.OutputFlag(cmd)
	return cmd
}

func ls(ctx context.Context, a *cli.App, client *connect.Session, prefix string, all, problems bool) error {
	states, refused, err := inspect.All(ctx, a, client, prefix)
	if err != nil {
		return err
	}
	states = slices.DeleteFunc(states, func(s *inspect.View) bool { return s.Refused != nil })
	used := len(states)
	states = slices.DeleteFunc(states, func(s *inspect.View) bool {
		return !all && s.Holder == nil && s.Waiting == 0 || problems && s.Problem() == ""
	})
	out := make([]*view.State, len(states))
	for i, state := range states {
		out[i] = state.JSON()
	}
	err = a.Print(out, func(s console.Screen) { printStates(s, states) })
	if hidden := used - len(states); problems {
		a.Say("%d of %s with a problem", len(states), console.Several(used, "name"))
	} else if hidden > 0 {
		a.Say("%d held, waited for or in cool-down, %d free (--all lists them)", len(states), hidden)
	}
	return errors.Join(err, inspect.LeftOut(refused))
}

func printStates(s console.Screen, states []*inspect.View) {
	rows := [][]string{{"NAME", "HOLDER", "HELD", "LEFT", "WAITING", "TOKENS UP TO"}}
	if slices.ContainsFunc(states, func(v *inspect.View) bool { return v.Problem() != "" }) {
		rows[0] = append(rows[0], "PROBLEM")
	}
	for _, state := range states {
		row := []string{
			view.Text(state.Name), state.Holders(), inspect.HeldText(state.Holder), inspect.RemainingText(state.Holder),
			fmt.Sprint(state.Waiting), inspect.TokenText(state.Token), s.Paint(console.Bad, state.Problem()),
		}
		rows = append(rows, row[:len(rows[0])])
	}
	console.PrintTable(s, rows)
}

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
	return a.Print(state.JSON(), func(s console.Screen) { inspect.PrintState(s, state) })
}
