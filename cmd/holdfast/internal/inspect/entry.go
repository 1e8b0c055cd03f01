package inspect

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
)

// EntryText is an entry in one line, without its time.
func EntryText(e journal.Entry) string {
	text := fmt.Sprintf("%-8s  %s  %s", e.Event, view.Text(e.Name), view.Text(e.Owner))
	switch e.Event {
	case journal.Granted:
		text += fmt.Sprintf("  token %d after %s", e.Token, console.Shortly(e.Waited))
	case journal.Released, journal.Exported, journal.Lost, journal.Revoked, journal.Stolen:
		text += fmt.Sprintf("  token %d", e.Token)
		if e.Held > 0 { // unknown of an exported hold
			text += " held for " + console.Shortly(e.Held)
		}
		if e.Cause != "" {
			text += ": " + CauseText(e.Cause, e.Reason)
		}
	case journal.Skipped:
		text += "  " + view.Text(e.Reason)
	case journal.Ended:
		text += fmt.Sprintf("  exit code %d after %s", e.Code, console.Shortly(e.Held))
	case journal.Dropped:
		return fmt.Sprintf("%-8s  %d entries of %s are missing: they could not be written", e.Event, e.N, view.Text(e.Owner))
	}
	return strings.TrimRight(text, " ")
}

// CauseText is "revoked: db-3 is being drained (by ann@ops-1)".
func CauseText(cause holdfast.Cause, reason string) string {
	if reason == "" {
		return string(cause)
	}
	return fmt.Sprintf("%s: %s", cause, view.Text(reason))
}
