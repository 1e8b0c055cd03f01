package pages

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/internal/memo"
)

const (
	maxRecent = 300 // entries of a journal that a page reads
	maxListed = 5000
	sparing   = 20 // times as long as reading took, it is not read again: of a name with few entries all is read
)

// wish selects the newest entries of the journal for a page.
type wish struct {
	name   string        // of this name; empty: of all
	event  journal.Event // this event; empty: all
	within time.Duration // not older, and all of them; 0: the newest few
}

// recent asks the journal once for all visitors of the same page: at most once per interval and
// wish, and for no more than a twentieth of the time. Others wait for the same answer, so it does
// not end with the request.
func recent(b *Board, w wish) ([]journal.Entry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstPicture)
	defer cancel()
	good := func(a memo.Answer[[]journal.Entry]) bool {
		return time.Since(a.At) <= max(seen.Interval, sparing*a.Took)
	}
	key := string(w.event) + " " + w.within.String() + " " + w.name
	got := b.recent.Get(ctx, key, good, func() ([]journal.Entry, error) { return read(ctx, b.Journal, w) })
	return got.Value, got.Err
}

func read(ctx context.Context, j seen.Journal, w wish) (entries []journal.Entry, err error) {
	q := journal.Query{Name: w.name, Event: w.event, Limit: maxRecent, Newest: true}
	if w.within > 0 {
		q.Since, q.Limit = seen.Since(w.within), maxListed
	}
	for e, err := range j.Read(ctx, q) {
		switch {
		case errors.Is(err, journal.ErrEntry):
		case err != nil:
			return entries, err
		case e.Event != journal.Dropped || w.name == "":
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// records asks for the jobs likewise.
func records(b *Board) ([]journal.Job, error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstPicture)
	defer cancel()
	good := func(a memo.Answer[[]journal.Job]) bool { return time.Since(a.At) <= seen.Interval }
	got := b.records.Get(ctx, "", good, func() ([]journal.Job, error) { return b.Journal.Jobs(ctx) })
	return got.Value, got.Err
}
