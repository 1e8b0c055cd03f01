package main

import (
	"cmp"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
)

func printState(s screen, state *View) {
	line := func(label, format string, args ...any) {
		s.printf("%s  ", s.paint(dim, padded(label, 12)))
		s.printf(format+"\n", args...)
	}
	line("name", "%s", view.Text(state.Name))
	if h := state.Holder; h == nil {
		line("holder", "none: the name is free")
		if state.Size > 0 {
			line("size", "%s, as a semaphore", partText(holdfast.Part{Permits: state.Size}))
		}
	} else if h.Cooldown {
		line("holder", "none: in cool-down after %s", s.paint(bold, view.Text(h.Owner)))
		line("time left", "%s", remainingText(h))
	} else if state.Kind != holdfast.KindMutex {
		line("kind", "%s", view.Text(view.KindName(state.State)))
		order := ""
		if state.Holding > 1 {
			order = ", the lease that ends first comes first"
		}
		line("held", "%s%s:", useText(state.State), order)
		printHolders(s, state.State)
	} else {
		if state.Term > 0 {
			line("kind", "%s", view.KindName(state.State))
			line("leader", "%s", s.paint(bold, holderName(h)))
			line("term", "%d", state.Term)
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
		line("last run", "%s", view.Text(state.last.String()))
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

// printHolders lists them where there may be several.
func printHolders(s screen, state *holdfast.State) {
	for i := range state.Holders {
		h := &state.Holders[i]
		s.printf("       %s  %s  %s  hash %s\n", s.paint(bold, holderName(h)), partText(h.Part),
			leftText(h), cmp.Or(h.Hash, "-"))
	}
	if more := state.Holding - len(state.Holders); more > 0 {
		s.printf("       and %d more\n", more)
	}
}

// printReasons prints the state of a name, and what to do.
func printReasons(s screen, line func(label, format string, args ...any), reasons []holdfast.Diagnosis) {
	for _, d := range reasons {
		code := string(d.Code)
		if d.Code.Problem() {
			code = s.paint(bad, code)
		}
		line("why", "%s: %s", code, view.Text(d.Sentence))
		if d.Action != "" {
			line("", "%s", view.Text(d.Action))
		}
	}
}

// printDetails prints the details of a process.
func printDetails(line func(label, format string, args ...any), d *holdfast.Details) {
	if d == nil {
		return
	}
	for _, field := range []struct{ label, text string }{
		{"process", d.String()}, {"program", d.Program}, {"command", d.Command}, {"note", d.Note},
	} {
		if field.text != "" {
			line(field.label, "%s", view.Text(field.text))
		}
	}
}
