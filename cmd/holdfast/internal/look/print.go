package look

import (
	"cmp"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
)

// PrintState prints all that is known of a name.
func PrintState(s console.Screen, state *View) {
	line := func(label, format string, args ...any) {
		s.Printf("%s  ", s.Paint(console.Dim, console.Padded(label, 12)))
		s.Printf(format+"\n", args...)
	}
	line("name", "%s", view.Text(state.Name))
	if h := state.Holder; h == nil {
		line("holder", "none: the name is free")
		if state.Size > 0 {
			line("size", "%s, as a semaphore", PartText(admin.Part{Permits: state.Size}))
		}
	} else if h.Cooldown {
		line("holder", "none: in cool-down after %s", s.Paint(console.Bold, view.Text(h.Owner)))
		line("time left", "%s", RemainingText(h))
	} else if state.Kind != holdfast.KindMutex {
		line("kind", "%s", view.Text(view.KindName(state.State)))
		order := ""
		if state.Holding > 1 {
			order = ", the lease that ends first comes first"
		}
		line("held", "%s%s:", UseText(state.State), order)
		printHolders(s, state.State)
	} else {
		if state.Term > 0 {
			line("kind", "%s", view.KindName(state.State))
			line("leader", "%s", s.Paint(console.Bold, HolderName(h)))
			line("term", "%d", state.Term)
		} else {
			line("holder", "%s", s.Paint(console.Bold, HolderName(h)))
		}
		line("hash", "%s", cmp.Or(h.Hash, "-"))
		line("held for", "%s", HeldText(h))
		if h.TTL > 0 {
			line("time left", "%s of %s", RemainingText(h), console.Age(h.TTL))
		} else {
			line("time left", "%s", RemainingText(h))
		}
		printDetails(line, h.Details)
	}
	printReasons(s, line, state.Reasons)
	if state.last != nil {
		line("last run", "%s", view.Text(state.last.String()))
	}
	line("tokens up to", "%s", TokenText(state.Token))
	line("waiting", "%d", state.Waiting)
	for i, w := range state.Waiters {
		note := ""
		if !w.Listening {
			note = "  its process has ended or has lost its connection"
		}
		s.Printf("  %3d  %s  for %s%s%s\n", i+1, waiterName(w), console.Age(w.Waited), wantsText(w.Part), s.Paint(console.Bad, note))
	}
	if more := state.Waiting - len(state.Waiters); more > 0 {
		s.Printf("       and %d more\n", more)
	}
}

// printHolders lists them where there may be several.
func printHolders(s console.Screen, state *admin.State) {
	for i := range state.Holders {
		h := &state.Holders[i]
		s.Printf("       %s  %s  %s  hash %s\n", s.Paint(console.Bold, HolderName(h)), PartText(h.Part),
			LeftText(h), cmp.Or(h.Hash, "-"))
	}
	if more := state.Holding - len(state.Holders); more > 0 {
		s.Printf("       and %d more\n", more)
	}
}

// printReasons prints the state of a name, and what to do.
func printReasons(s console.Screen, line func(label, format string, args ...any), reasons []diagnose.Diagnosis) {
	for _, d := range reasons {
		code := string(d.Code)
		if d.Code.Problem() {
			code = s.Paint(console.Bad, code)
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
