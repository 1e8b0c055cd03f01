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

// ls is one `holdfast ls`.
type ls struct {
	*cli.App
	client        *connect.Session
	prefix        string
	all, problems bool
}

// LsCommand is 'holdfast ls'.
func LsCommand(a *cli.App) *cobra.Command {
	l, again := &ls{App: a}, false
	cmd := a.Command("ls [PREFIX]", "List locks that are held or waited for", cli.MaybeOne, func(ctx context.Context, args []string) error {
		l.prefix = strings.Join(args, "")
		work := l.once
		if again {
			var cancel context.CancelFunc
			ctx, cancel = cli.UntilUnread(ctx, a.Stdout)
			defer cancel()
			work = newWatcher(l).run
		}
		return connect.On(ctx, a, func(client *connect.Session) error {
			l.client = client
			return work(ctx)
		})
	})
	cmd.Flags().BoolVarP(&l.all, "all", "a", false, "also list free names")
	cmd.Flags().BoolVar(&l.problems, "problems", false, "list only names with a problem; exit with 1 if there are any")
	cmd.Flags().BoolVarP(&again, "watch", "w", false, "list again every 2 s, until ctrl-C")
	a.OutputFlag(cmd, "name")
	return cmd
}

// names has the names to print, and the number of all names.
type names struct {
	shown   []*inspect.View
	known   int
	refused error // why some could not be read, or not all of them; nil: all were read
}

func (l *ls) read(ctx context.Context) (*names, error) {
	states, refused, err := inspect.All(ctx, l.App, l.client, l.prefix)
	if err != nil {
		return nil, err
	}
	n := &names{refused: inspect.LeftOut(refused)}
	for _, s := range states {
		if s.Refused != nil {
			continue
		}
		n.known++
		if (l.all || s.Holder != nil || s.Waiting > 0) && (!l.problems || s.Problem() != "") {
			n.shown = append(n.shown, s)
		}
	}
	if n.refused == nil {
		n.refused = inspect.OnReplica(ctx, l.client, states...)
	}
	return n, nil
}

// summary says what is not in the list.
func (l *ls) summary(n *names) string {
	hidden := n.known - len(n.shown)
	switch {
	case l.problems:
		return fmt.Sprintf("%d of %s with a problem", len(n.shown), console.Several(n.known, "name"))
	case hidden > 0:
		return fmt.Sprintf("%d held, waited for or in cool-down, %d free (--all lists them)", len(n.shown), hidden)
	}
	return ""
}

// quiet reports whether there is nothing to print: cron mails what a command prints.
func (l *ls) quiet(n *names) bool { return l.problems && len(n.shown) == 0 && l.Output == "text" }

func (l *ls) once(ctx context.Context) error {
	n, err := l.read(ctx)
	if err != nil {
		return err
	}
	if !l.quiet(n) {
		err = l.Print(statesJSON(n.shown), func(s console.Screen) {
			if l.Output == "name" {
				printNames(s, n.shown)
				return
			}
			printStates(s, n.shown)
		})
	}
	if text := l.summary(n); text != "" && l.Output != "name" && (!l.quiet(n) || l.Page().Terminal) {
		l.Say("%s", text)
	}
	if err = errors.Join(err, n.refused); err == nil && l.problems && len(n.shown) > 0 {
		return cli.Exit(cli.ExitProblems, nil)
	}
	return err
}

func statesJSON(states []*inspect.View) []*view.State {
	out := make([]*view.State, len(states))
	for i, state := range states {
		out[i] = state.JSON()
	}
	return out
}

// printNames prints names as they are, one on each line. A terminal gets no special characters.
func printNames(s console.Screen, states []*inspect.View) {
	for _, state := range states {
		name := state.Name
		if s.Terminal {
			name = view.Text(name)
		}
		s.Printf("%s\n", name)
	}
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
