package dashboard

import (
	"slices"

	"github.com/holdfast-go/holdfast/journal"
)

// What the nodes of a quorum do not keep must not look like what is not there: they have
// no line, no terms and no Details, and nobody there can be told anything.

// quorum is the quorum-id of what is shown; empty: it is one master.
func (d *board) quorum() string { return d.client.Quorum() }

// withoutLines takes off a page of locks what tells of lines.
func (l *locksPage) withoutLines() {
	l.States = slices.DeleteFunc(l.States, func(c choice) bool { return c.Value == "waiting" })
	l.Columns = slices.DeleteFunc(l.Columns, func(c column) bool { return c.Text == "Waiting" })
}

// withoutLines leaves of the overview what is known, which with a journal is also how
// long waits were.
func (o *overviewPage) withoutLines(written bool) {
	o.Tiles = slices.DeleteFunc(o.Tiles, func(t tile) bool {
		return t.Label == "Waiting" || !written && (t.Label == waitP50 || t.Label == waitP99)
	})
	o.Charts = slices.DeleteFunc(o.Charts, func(c chart) bool { return !written && c.Title == waitsEnded })
}

// tells reports whether an event can be known of: by looking, or from a journal.
func (d *board) tells(w journal.Event, looked, written bool) bool {
	return written || looked && (d.quorum() == "" || w != journal.Asked)
}
