// Package watch is 'holdfast watch': entries of the journal, as they come.
package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/look"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/spf13/cobra"
)

// Command is 'holdfast watch'.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [PREFIX]",
		Short: "Print what happens to locks, as it happens",
		Args:  cli.MaybeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return watch(cmd.Context(), a, strings.Join(args, ""))
		},
	}
	a.OutputFlag(cmd)
	return cmd
}

func watch(ctx context.Context, a *cli.App, prefix string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := cli.UntilUnread(ctx, a.Stdout)
	defer cancel()
	store, closeStore, err := connect.OpenJournal(ctx, a)
	if err != nil {
		return err
	}
	defer closeStore()
	a.Detail("watching %s", cli.PublicURL(a.RedisURL))
	for e, err := range journal.Follow(ctx, store, journal.Query{KeyPrefix: a.Prefix, Prefix: prefix}) {
		switch {
		case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, journal.ErrRewound):
			a.Say("%s; retrying", cli.Why(err))
			continue
		case errors.Is(err, journal.ErrEntry):
			a.Detail("%s", cli.Reason(err))
			continue
		case err != nil:
			return err
		}
		if err := printEntry(a, e); cli.Unread(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func printEntry(a *cli.App, e journal.Entry) error {
	if a.Output == "json" {
		return console.PrintJSONLine(a.Stdout, look.NewEntryJSON(e))
	}
	_, err := fmt.Fprintf(a.Stdout, "%s  %s\n", console.Stamp(e.At), view.Text(look.EntryText(e))) // any writer of the journal can put any cause there
	return err
}
