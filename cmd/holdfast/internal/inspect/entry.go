package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
)

// EntryJSON is an entry as -o json prints it. Its names are promised. Durations are
// in milliseconds.
type EntryJSON struct {
	ID            string    `json:"id"`
	At            time.Time `json:"at"`
	UncertaintyMS float64   `json:"uncertainty_ms"`
	Event         string    `json:"event"`
	Name          string    `json:"name"`
	Kind          string    `json:"kind,omitempty"`
	Owner         string    `json:"owner"`
	Token         int64     `json:"token,omitempty"`
	WaitedMS      *float64  `json:"waited_ms,omitempty"`
	HeldMS        *float64  `json:"held_ms,omitempty"`
	Cause         string    `json:"cause,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	Code          *int      `json:"code,omitempty"`
	N             int64     `json:"n,omitempty"`
	Writer        string    `json:"writer"`
	Seq           int64     `json:"seq"`
}

// NewEntryJSON is e as -o json prints it.
func NewEntryJSON(e journal.Entry) EntryJSON {
	out := EntryJSON{
		ID: e.ID, At: e.At.UTC(), UncertaintyMS: console.Milliseconds(e.Uncertainty), Event: string(e.Event), Name: e.Name, Kind: string(e.Kind),
		Owner: e.Owner, Token: e.Token, Cause: string(e.Cause), Reason: e.Reason, N: e.N, Writer: e.Writer, Seq: e.Seq,
	}
	switch e.Event {
	case journal.Granted, journal.Skipped:
		out.WaitedMS = new(console.Milliseconds(e.Waited))
	case journal.Released:
		if e.Cause != holdfast.Exported {
			out.HeldMS = new(console.Milliseconds(e.Held))
		}
	case journal.Exported, journal.Lost, journal.Revoked, journal.Stolen, journal.Dropped:
		out.HeldMS = new(console.Milliseconds(e.Held))
	case journal.Ended:
		out.HeldMS, out.Code = new(console.Milliseconds(e.Held)), new(e.Code)
	}
	return out
}

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
