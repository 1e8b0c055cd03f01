package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/cobra"
)

// inspectAtOnce is how many names ls asks about at the same time.
const inspectAtOnce = 16

func (a *app) lsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "ls [PREFIX]",
		Short: "List the names that are held or waited for",
		Long: `List the names that are held or waited for, or those of them that begin with
PREFIX. With --all also the free ones that were used in the last day.

Names are found by their tokens' keys, which live a day beyond the last use; a
key that only others have set under the same prefix is not found. This walks the
whole keyspace with SCAN: on a large server it takes its time. Each line was true
at its own moment. Names that the server will not let us look at are left out,
and said to be: the exit code is then 77.

TOKENS UP TO is the newest token reserved, and not the lease's own: a process
reserves many at once.

-o json prints an array of objects, sorted by name:

` + jsonFieldsHelp,
		Example: `  holdfast ls
  holdfast ls invoice:
  holdfast ls -o json | jq -r '.[] | select(.waiters != []) | .name'`,
		Args: maybeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ls(cmd.Context(), strings.Join(args, ""), all)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list free names too")
	a.outputFlag(cmd)
	return cmd
}

func (a *app) ls(ctx context.Context, prefix string, all bool) error {
	client, closeClient, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer closeClient()
	states, refused, err := a.inspectAll(ctx, client, prefix)
	if err != nil {
		return err
	}
	used := len(states)
	if !all {
		states = slices.DeleteFunc(states, func(s *view) bool {
			return s.Holder == nil && s.Waiting == 0
		})
	}
	if a.output == "json" {
		out := make([]stateJSON, len(states))
		for i, state := range states {
			out[i] = newStateJSON(state)
		}
		err = printJSON(a.stdout, out)
	} else {
		printStates(screenOf(a.stdout), states)
	}
	if hidden := used - len(states); hidden > 0 {
		a.say("names used in the last day: %d held or waited for, %d free (--all lists them)", len(states), hidden)
	} else {
		a.say("names used in the last day: %d", len(states))
	}
	return errors.Join(err, leftOut(refused))
}

// inspectAll looks at every name with prefix, and returns them sorted, with the
// refusals of those that the server will not show.
func (a *app) inspectAll(ctx context.Context, client *holdfast.Client, prefix string) (states []*view, refused []error, err error) {
	var names []string
	for name, err := range client.Names(ctx, prefix) {
		if err != nil {
			return nil, nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for part := range slices.Chunk(names, inspectAtOnce) {
		found, errs := make([]*view, len(part)), make([]error, len(part))
		err := atOnce(ctx, len(part), func(ctx context.Context, i int) (err error) {
			found[i], err = a.look(ctx, client, part[i])
			if _, answered := errors.AsType[holdfast.ServerError](err); answered {
				errs[i], err = err, nil
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		for i := range part {
			if errs[i] != nil {
				refused = append(refused, errs[i])
			} else {
				states = append(states, found[i])
			}
		}
	}
	return states, refused, nil
}

// leftOut says how many names were refused, and of the first the reason.
func leftOut(refused []error) error {
	switch len(refused) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 name is left out: %w", bare{refused[0]})
	}
	return fmt.Errorf("%d names are left out, the first for this: %w", len(refused), bare{refused[0]})
}

// bare is an error of the library without its name in front.
type bare struct{ error }

func (b bare) Error() string { return strings.TrimPrefix(b.error.Error(), "holdfast: ") }

func (b bare) Unwrap() error { return b.error }

func printStates(s screen, states []*view) {
	rows := [][]string{{"NAME", "HOLDER", "HELD", "LEFT", "WAITING", "TOKENS UP TO"}}
	for _, state := range states {
		rows = append(rows, []string{
			visible(state.Name), state.holders(), heldText(state.Holder), remainingText(state.Holder),
			fmt.Sprint(state.Waiting), tokenText(state.Token),
		})
	}
	printColumns(s, rows)
}

// printColumns prints rows as columns as wide as they must be, the first row
// being the head.
func printColumns(s screen, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = padded(cell, widths[i])
		}
		text := strings.TrimRight(strings.Join(cells, "  "), " ")
		if n == 0 {
			text = s.paint(bold, text)
		}
		s.printf("%s\n", text)
	}
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
