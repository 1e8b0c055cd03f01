package main

import (
	"cmp"
	"context"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
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

` + jsonFieldsHelp + `

  last_run      of run --every and Once, if a run is stored: owner, token, began,
                ended (null: not yet), outcome ("done", or the error), and tick
                with --every`,
		Example: `  holdfast show nightly
  holdfast show nightly -o json | jq -r .holder.owner`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.show(cmd.Context(), args[0])
		},
	}
	a.outputFlag(cmd)
	return cmd
}

func (a *app) show(ctx context.Context, name string) error {
	client, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	state, err := a.look(ctx, client, name)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return printJSON(a.stdout, newStateJSON(state))
	}
	printState(a.page(), state)
	return nil
}

func printState(s screen, state *view) {
	line := func(label, format string, args ...any) {
		s.printf("%s  ", s.paint(dim, padded(label, 12)))
		s.printf(format+"\n", args...)
	}
	line("name", "%s", visible(state.Name))
	if h := state.Holder; h == nil {
		line("holder", "none: the name is free")
		if state.Size > 0 {
			line("size", "%s, as a semaphore", partText(holdfast.Part{Permits: state.Size}))
		}
	} else if h.Cooldown {
		line("holder", "none: in cool-down after %s", s.paint(bold, visible(h.Owner)))
		line("time left", "%s", remainingText(h))
	} else if state.Kind != holdfast.KindMutex {
		line("kind", "%s", visible(state.kind()))
		order := ""
		if state.Holding > 1 {
			order = ", the lease that ends first comes first"
		}
		line("held", "%s%s:", useText(state.State), order)
		printHolders(s, state.State)
	} else {
		if state.term > 0 {
			line("kind", "%s", state.kind())
			line("leader", "%s", s.paint(bold, holderName(h)))
			line("term", "%d", state.term)
		} else {
			line("holder", "%s", s.paint(bold, holderName(h)))
		}
		line("hash", "%s", cmp.Or(h.Hash, "-"))
		line("held for", "%s", heldText(h))
		if h.TTL > 0 {
			line("time left", "%s of %s", remainingText(h), age(h.TTL))
		} else {
			line("time left", "%s", remainingText(h))
		}
		printDetails(line, h.Details)
	}
	printReasons(s, line, state.reasons)
	if state.last != nil {
		line("last run", "%s", visible(state.last.String()))
	}
	line("tokens up to", "%s", tokenText(state.Token))
	line("waiting", "%d", state.Waiting)
	for i, w := range state.Waiters {
		note := ""
		if !w.Listening {
			note = "  its process has ended or has lost its connection"
		}
		s.printf("  %3d  %s  for %s%s%s\n", i+1, waiterName(w), age(w.Waited), wantsText(w.Part), s.paint(bad, note))
	}
	if more := state.Waiting - len(state.Waiters); more > 0 {
		s.printf("       and %d more\n", more)
	}
}
