package main

import (
	"context"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show who holds a name, who waits, since when",
		Long: `Show who holds a name, since when and how long the lease lasts unless it is
renewed, and who waits, in order. A name that nobody holds is free: that is an
answer, not an error. One in cool-down is held by nobody either, but nobody gets
it yet: it was held for less than its --min-hold.

"tokens up to" is the newest token reserved, and not the lease's own: a process
reserves many at once, for its renewals and turns. A command of 'holdfast run'
finds its own in HOLDFAST_TOKEN.

A lease that a process has exported ('holdfast acquire' and leases by request of 'holdfast
serve') is shown as that process's until another adopts it, with the note that no
process renews it by itself. That is known of the newest 32 of each process; an older
one is judged as if its process renewed it.
Where a program runs something once per interval (Client.Once), "last run" is
the newest.

"why" says how the name stands: its code, in words, and what can be done about it. What
is long for a mutex is known from the journal, where it has three holds of the name.
Processes that wait for each other are found by 'holdfast ls' alone, which looks at
all names.

-o json prints an object:

` + jsonFieldsHelp + `
  last_run      of run --every and Once, where a run is remembered: owner, token, began,
                ended (null: it has not), outcome ("done", or what went wrong), and
                with --every tick`,
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
	client, closeClient, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer closeClient()
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
		line("holder", "nobody: the name is free")
		if state.Size > 0 {
			line("size", "%s, as a semaphore", partText(holdfast.Part{Permits: state.Size}))
		}
	} else if h.Cooldown {
		line("holder", "nobody: the name is in cool-down after %s", s.paint(bold, visible(h.Owner)))
		line("time left", "%s", remainingText(h))
	} else if state.Kind != holdfast.KindMutex {
		line("kind", "%s", visible(state.kind()))
		order := ""
		if state.Holding > 1 {
			order = ", by the end of their time"
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
		line("hash", "%s", firstOf(h.Hash, "-"))
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
			note = "  its process is gone or cut off"
		}
		s.printf("  %3d  %s  for %s%s%s\n", i+1, waiterName(w), age(w.Waited), wantsText(w.Part), s.paint(bad, note))
	}
	if more := state.Waiting - len(state.Waiters); more > 0 {
		s.printf("       and %d more\n", more)
	}
}
