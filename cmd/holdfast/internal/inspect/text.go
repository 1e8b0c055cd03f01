package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
)

// HolderName is what people call the holder.
func HolderName(h *admin.Holder) string {
	switch {
	case h == nil:
		return "-"
	case h.Cooldown:
		return fmt.Sprintf("(cool-down after %s)", view.Text(h.Owner))
	case h.Version > 0:
		return fmt.Sprintf("(another version of holdfast: protocol %d)", h.Version)
	case h.Foreign:
		return cmp.Or(view.Text(h.Owner), "(not holdfast)")
	}
	return cmp.Or(view.Text(h.Owner), "(no label)")
}

// HeldText is how long a name has been held.
func HeldText(h *admin.Holder) string {
	if h == nil || h.Held <= 0 {
		return "-"
	}
	return console.Age(h.Held)
}

// RemainingText is how long the lease lasts.
func RemainingText(h *admin.Holder) string {
	switch {
	case h == nil:
		return "-"
	case h.Remaining < 0:
		return "no expiry"
	}
	return console.Age(h.Remaining)
}

// spanText is "6s of 15s", or less if less is known.
func spanText(h *admin.Holder) string {
	if h.TTL <= 0 {
		return RemainingText(h)
	}
	return RemainingText(h) + " of " + console.Age(h.TTL)
}

// LeftText is "6s of 15s left".
func LeftText(h *admin.Holder) string {
	if h.Remaining < 0 {
		return RemainingText(h)
	}
	return spanText(h) + " left"
}

// TokenText is a token, or - if there is none.
func TokenText(token int64) string {
	if token == 0 {
		return "-"
	}
	return fmt.Sprint(token)
}

// waiterName is the label of a waiter, with the details of its process.
func waiterName(w admin.Waiter) string {
	if w.Owner == "" {
		return "(no label)"
	}
	return view.Text(w.Describe())
}

// HolderText is "held by ci-7 (alice, pid 4121) for 3m12s, renews on time", "held by
// ci-7 and 1 more (3 of 3 permits), renews on time", or "in cool-down after ci-7 for
// 12m more". In brief it leaves out what is as it should be.
func HolderText(state *admin.State, brief bool, known *diagnose.Options) string {
	h := state.Holder
	if h.Cooldown {
		return "in cool-down after " + view.Text(h.Owner) + " for " + console.Age(h.Remaining) + " more"
	}
	text := "held by " + holdersText(state)
	if !brief && state.Kind == holdfast.KindMutex && !h.Foreign && h.Owner != "" {
		text = "held by " + view.Text(h.Describe())
	}
	if h.Held > 0 {
		text += " for " + console.Age(h.Held)
	}
	return text + renewsText(state, brief, known)
}

// renewsText says in few words whether the holder renews in time.
func renewsText(state *admin.State, brief bool, known *diagnose.Options) (text string) {
	words := map[diagnose.Code]string{
		diagnose.NoTTL: "without expiry", diagnose.Expiring: "does not renew any more",
		diagnose.RenewalsLate: "renews late", diagnose.HeldLong: "longer than usual",
		diagnose.Revoking: "is asked to stop", diagnose.HeldHealthy: "renews on time",
	}
	for _, d := range diagnose.State(state, known) {
		switch word := words[d.Code]; {
		case state.Holder.Exported && d.Code == diagnose.HeldHealthy:
			text += ", lasts " + console.Age(state.Holder.Remaining) + " more unless renewed by hand"
		case word != "" && (!brief || d.Code != diagnose.HeldHealthy):
			text += ", " + word
		}
	}
	return text
}

// WaitersText is "; 2 waiters in the queue", or nothing if the queue is empty.
func WaitersText(state *admin.State) string {
	if state.Waiting == 0 {
		return ""
	}
	return "; " + console.Several(state.Waiting, "waiter") + " in the queue"
}

// UseText says how a name of a shared kind is used.
func UseText(state *admin.State) string {
	switch {
	case state.Kind == holdfast.KindSemaphore && state.Used > state.Size:
		return fmt.Sprintf("%s, size %d", console.Several(state.Used, "permit"), state.Size)
	case state.Kind == holdfast.KindSemaphore:
		return fmt.Sprintf("%d of %d permits", state.Used, state.Size)
	case state.Holder != nil && state.Holder.Part.Writes:
		return "a writer"
	}
	if state.Kind != holdfast.KindRWMutex { // of another program
		return console.Several(state.Holding, "holder")
	}
	return console.Several(state.Holding, "reader")
}

// PartText is what a holder has of a shared kind; empty: it is a mutex.
func PartText(p admin.Part) string {
	switch {
	case p.Reads:
		return "a reader"
	case p.Writes:
		return "a writer"
	case p.Permits > 0:
		return console.Several(p.Permits, "permit")
	}
	return ""
}

func wantsText(p admin.Part) string {
	switch {
	case p.Permits > 0:
		return ", wants " + PartText(p)
	case p.Reads, p.Writes:
		return ", wants to be " + PartText(p)
	}
	return ""
}

// holdersText names the holders of a name in one cell.
func holdersText(state *admin.State) string {
	text := HolderName(state.Holder)
	if state.Holder == nil && state.Size > 0 {
		return fmt.Sprintf("%s (of %s)", text, PartText(admin.Part{Permits: state.Size}))
	}
	if state.Kind == holdfast.KindMutex || state.Holder == nil {
		return text
	}
	if state.Holding > 1 {
		text += fmt.Sprintf(" and %d more", state.Holding-1)
	}
	return text + " (" + UseText(state) + ")"
}

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
		line("time left", "%s", spanText(h))
		printDetails(line, h.Details)
	}
	printReasons(s, line, state.Reasons)
	if state.last != nil {
		line("last run", "%s", view.Text(state.last.String()))
	}
	line("tokens up to", "%s", TokenText(state.Token))
	line("waiting", "%d", state.Waiting)
	printWaiters(s, state.State)
}

// printHolders lists them where there may be several.
func printHolders(s console.Screen, state *admin.State) {
	for i := range state.Holders {
		h := &state.Holders[i]
		s.Printf("       %s\n", HolderLine(s, h))
		printWork(s, h.Details)
	}
	if more := state.Holding - len(state.Holders); more > 0 {
		s.Printf("       and %d more\n", more)
	}
}

// HolderLine is one of several holders in a line: what it has, since when, and its hash.
func HolderLine(s console.Screen, h *admin.Holder) string {
	name := HolderName(h)
	if ours := h.Version == 0 && !h.Foreign && !h.Cooldown; ours && h.Owner != "" {
		name = view.Text(h.Describe())
	}
	parts := []string{s.Paint(console.Bold, name)}
	if text := PartText(h.Part); text != "" {
		parts = append(parts, text)
	}
	if h.Held > 0 {
		parts = append(parts, "held for "+console.Age(h.Held))
	}
	return strings.Join(append(parts, LeftText(h), "hash "+cmp.Or(h.Hash, "-")), "  ")
}

// printWaiters lists the waiters in order, and what their processes run.
func printWaiters(s console.Screen, state *admin.State) {
	for i, w := range state.Waiters {
		note := ""
		if !w.Listening {
			note = "  its process has ended or has lost its connection"
		}
		s.Printf("  %3d  %s  for %s%s%s\n", i+1, waiterName(w), console.Age(w.Waited), wantsText(w.Part), s.Paint(console.Bad, note))
		printWork(s, w.Details)
	}
	if more := state.Waiting - len(state.Waiters); more > 0 {
		s.Printf("       and %d more\n", more)
	}
}

// printWork prints what a process runs, under its line.
func printWork(s console.Screen, d *holdfast.Details) {
	printDetails(func(label, format string, args ...any) {
		if label == "command" || label == "within" || label == "note" { // its line has the rest
			s.Printf("       %s  %s\n", s.Paint(console.Dim, console.Padded(label, 7)), fmt.Sprintf(format, args...))
		}
	}, d)
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
		{"process", d.String()}, {"program", d.Program}, {"command", d.Command}, {"within", d.Within}, {"note", d.Note},
	} {
		if field.text != "" {
			line(field.label, "%s", view.Text(field.text))
		}
	}
}
