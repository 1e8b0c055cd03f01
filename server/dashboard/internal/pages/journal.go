package pages

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/internal/memo"
)

const (
	maxRecent = 300 // entries of a journal that a page reads
	sparing   = 20  // times as long as reading took, it is not read again: of a name with few entries all is read
)

// recent asks the journal once for all visitors of the same page: at most once per interval and
// name, and for no more than a twentieth of the time. Others wait for the same answer, so it does
// not end with the request.
func recent(b *Board, name string) ([]journal.Entry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstPicture)
	defer cancel()
	good := func(a memo.Answer[[]journal.Entry]) bool {
		return time.Since(a.At) <= max(seen.Interval, sparing*a.Took)
	}
	got := b.recent.Get(ctx, name, good, func() ([]journal.Entry, error) { return b.Journal.Recent(ctx, name, maxRecent) })
	return got.Value, got.Err
}

// records asks for the jobs likewise.
func records(b *Board) ([]journal.Job, error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstPicture)
	defer cancel()
	good := func(a memo.Answer[[]journal.Job]) bool { return time.Since(a.At) <= seen.Interval }
	got := b.records.Get(ctx, "", good, func() ([]journal.Job, error) { return b.Journal.Jobs(ctx) })
	return got.Value, got.Err
}
