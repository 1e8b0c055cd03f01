package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// eventsPage is what happened, the newest first.
type eventsPage struct {
	*visit
	What       string
	Whats      []choice
	Since      []choice
	Pages      *parts
	Rows       []eventRow
	Written    bool      // there is a journal, and somebody writes it
	Trouble    string    // it does not answer
	Unreadable string    // some of it can't be read
	Began      time.Time // of what was seen
	Empty      bool
}

// eventRow is an Entry as it is shown.
type eventRow struct {
	journal.Entry
	Key    string
	Chip   chip
	Detail string
}

// kinds are the events that can be seen without a journal, then those that only the journal has.
var kinds = []struct {
	event       journal.Event
	icon, class string
}{
	{journal.Asked, "waiting", "calm"},
	{journal.Granted, "granted", "good"},
	{journal.Released, "released", "calm"},
	{journal.Lost, "trouble", "bad"},
	{journal.Exported, "granted", "calm"},
	{journal.Revoked, "stop", "bad"},
	{journal.Stolen, "trouble", "bad"},
	{journal.Skipped, "watch", "warn"},
	{journal.Started, "jobs", "good"},
	{journal.Ended, "ok", "calm"},
	{journal.Dropped, "watch", "warn"},
}

const unwritten = 4 // kinds that can be seen without a journal

func events(v *visit) any {
	page := &eventsPage{visit: v}
	for _, k := range kinds {
		if string(k.event) == v.query.Get("what") {
			page.What = string(k.event)
		}
	}
	short := v.query.Get("since") == lately
	page.Since = []choice{{"", "Any time", !short}, {lately, "Last ten minutes", short}}
	entries := happened(page, short)
	page.Whats = []choice{{"", "All events", page.What == ""}}
	for i, k := range kinds {
		if page.Written || i < unwritten && (v.Quorum == "" || k.event != journal.Asked) {
			text := string(k.event)
			page.Whats = append(page.Whats, choice{text, strings.ToUpper(text[:1]) + text[1:], text == page.What})
		}
	}
	page.Empty = len(entries) == 0 && page.What == "" && !short
	page.Pages, entries = paged(v, slices.DeleteFunc(entries, func(e journal.Entry) bool { return !v.fits(e.Name, e.Owner) }))
	for _, e := range entries {
		page.Rows = append(page.Rows, newEventRow(e))
	}
	return page
}

// lately is the value of since for seen.Remembered.
const lately = "10m"

// happened is what the journal says, or without one what was seen, the newest first.
func happened(page *eventsPage, short bool) (entries []journal.Entry) {
	var within time.Duration
	if short {
		within = seen.Remembered
	}
	if page.Journal != nil {
		written, err := recent(page.Board, wish{})
		page.Written = len(written.all) > 0
		if err == nil && page.Written && (short || page.What != "") {
			written, err = recent(page.Board, wish{event: journal.Event(page.What), within: within})
		}
		if err != nil {
			page.Trouble = whyNot(err)
		}
		page.Unreadable = written.text("entry")
		if page.Written {
			// The stream is in the order of writing, and writers write in batches.
			return slices.SortedStableFunc(slices.Values(written.all), func(a, b journal.Entry) int { return b.At.Compare(a.At) })
		}
	}
	page.Began = page.Picture.Past.Began
	entries = slices.Clone(page.Picture.Past.Events)
	slices.Reverse(entries)
	return slices.DeleteFunc(entries, func(e journal.Entry) bool {
		return page.What != "" && string(e.Event) != page.What || short && e.At.Before(seen.Since(within))
	})
}

func newEventRow(e journal.Entry) eventRow {
	row := eventRow{
		Entry: e, Key: view.Text(cmp.Or(e.ID, e.At.Format(time.RFC3339Nano)) + string(e.Event) + e.Name + e.Owner),
		Chip: chip{view.Text(string(e.Event)), "note", ""},
	}
	for _, k := range kinds {
		if k.event == e.Event {
			row.Chip.Icon, row.Chip.Class = k.icon, k.class
		}
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if e.Event == journal.Ended {
		if say("exit code %d", e.Code); e.Code != 0 {
			row.Chip.Icon, row.Chip.Class = "trouble", "bad"
		}
	}
	if e.Waited > 0 {
		say("after %s", show.Length(e.Waited))
	}
	if e.Held > 0 {
		say("held for %s", show.Length(e.Held))
	}
	if e.Cause != "" && string(e.Cause) != string(e.Event) {
		say("%s", view.Text(string(e.Cause)))
	}
	if e.Reason != "" {
		say("“%s”", view.Text(e.Reason))
	}
	if e.N > 0 {
		say("%s are missing before this one", show.Plural(int(e.N), "event"))
	}
	row.Detail = strings.Join(said, ", ")
	return row
}
