package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/spf13/cobra"
)

func (a *app) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [PREFIX]",
		Short: "Print what happens to locks, as it happens",
		Long: `Print one line for each event of the locks, or of those whose name begins with PREFIX,
as it happens, until ctrl-C.

The events are the entries of the journal. 'holdfast run' and programs with a journal
write it, a moment after the event. Times are from the server's clock, shown in the local
time zone. The command asks the server four times per second.

While the server is unreachable, the command retries and says so once on stderr. The
events of that time follow. ctrl-C ends it with exit code 0. It also ends when
the program that reads its output ends.

JSON OUTPUT
-o json prints one object per line:

` + entryFieldsHelp,
		Example: `  holdfast watch
  holdfast watch deploy: -o json | jq -r 'select(.event == "lost")'`,
		Args: maybeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd.Context(), strings.Join(args, ""))
		},
	}
	a.outputFlag(cmd)
	return cmd
}

func (a *app) watch(ctx context.Context, prefix string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := untilUnread(ctx, a.stdout)
	defer cancel()
	store, closeStore, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer closeStore()
	a.detail("watching %s", publicURL(a.redisURL))
	for e, err := range journal.Follow(ctx, store, journal.Query{KeyPrefix: a.prefix, Prefix: prefix}) {
		switch {
		case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, journal.ErrRewound):
			a.say("%s; retrying", why(err))
			continue
		case errors.Is(err, journal.ErrEntry):
			a.detail("%s", reason(err))
			continue
		case err != nil:
			return err
		}
		if err := a.printEntry(e); unread(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printEntry(e journal.Entry) error {
	if a.output == "json" {
		return printJSONLine(a.stdout, newEntryJSON(e))
	}
	_, err := fmt.Fprintf(a.stdout, "%s  %s\n", stamp(e.At), view.Text(entryText(e))) // any writer of the journal can put any cause there
	return err
}
