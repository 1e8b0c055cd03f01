package main

import (
	"context"
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
at its own moment.

-o json prints an array of objects, sorted by name:

` + jsonFieldsHelp,
		Example: `  holdfast ls
  holdfast ls invoice:
  holdfast ls -o json | jq -r '.[] | select(.waiters != []) | .name'`,
		Args: cobra.MaximumNArgs(1),
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
	states, err := inspectAll(ctx, client, prefix)
	if err != nil {
		return err
	}
	used := len(states)
	if !all {
		states = slices.DeleteFunc(states, func(s *holdfast.State) bool {
			return s.Holder == nil && len(s.Waiters) == 0
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
		a.say("%d held or waited for, %d free (--all lists them); of the names used in the last day", len(states), hidden)
	} else {
		a.say("%d of the names used in the last day", len(states))
	}
	return err
}

// inspectAll looks at every name with prefix, and returns them sorted.
func inspectAll(ctx context.Context, client *holdfast.Client, prefix string) ([]*holdfast.State, error) {
	var names []string
	for name, err := range client.Names(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names) // a scan may yield a name twice
	states := make([]*holdfast.State, 0, len(names))
	for part := range slices.Chunk(names, inspectAtOnce) {
		found := make([]*holdfast.State, len(part))
		err := atOnce(ctx, len(part), func(ctx context.Context, i int) (err error) {
			found[i], err = client.Inspect(ctx, part[i])
			return err
		})
		if err != nil {
			return nil, err
		}
		states = append(states, found...)
	}
	return states, nil
}

func printStates(s screen, states []*holdfast.State) {
	rows := [][]string{{"NAME", "HOLDER", "HELD", "LEFT", "WAITING", "TOKEN"}}
	for _, state := range states {
		rows = append(rows, []string{
			state.Name, holderName(state.Holder), heldText(state.Holder), remainingText(state.Holder),
			fmt.Sprint(len(state.Waiters)), tokenText(state.Token),
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
