package pages

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/internal/memo"
)

const (
	maxRecent = 300 // entries of a journal that a page reads
	maxListed = 5000
	sparing   = 20 // times as long as reading took, it is not read again: of a name with few entries all is read
)

// readings are what the journal has, and the number of what cannot be read.
type readings[T any] struct {
	all        []T
	unreadable int
}

func readingsOf[T any](all []T, unreadable int, err error) (readings[T], error) {
	return readings[T]{all, unreadable}, err
}

// text says how many cannot be read; nothing if there are none.
func (r readings[T]) text(what string) string {
	if r.unreadable == 0 {
		return ""
	}
	return view.Unreadable(r.unreadable, what)
}

// wish selects the newest entries of the journal for a page.
type wish struct {
	name   string        // of this name; empty: of all
	event  journal.Event // this event; empty: all
	within time.Duration // not older, and all of them; 0: the newest few
}

// recent asks the journal once for all visitors of the same page: at most once per interval and
// wish, and for no more than a twentieth of the time. Others wait for the same answer, so it does
// not end with the request.
func recent(b *Board, w wish) (readings[journal.Entry], error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstPicture)
	defer cancel()
	good := func(a memo.Answer[readings[journal.Entry]]) bool {
		return time.Since(a.At) <= max(seen.Interval, sparing*a.Took)
	}
	key := string(w.event) + " " + w.within.String() + " " + w.name
	got := b.recent.Get(ctx, key, good, func() (readings[journal.Entry], error) { return read(ctx, b.Journal, w) })
	return got.Value, got.Err
}

func read(ctx context.Context, j seen.Journal, w wish) (r readings[journal.Entry], err error) {
	q := journal.Query{Name: w.name, Event: w.event, Limit: maxRecent, Newest: true}
	if w.within > 0 {
		q.Since, q.Limit = seen.Since(w.within), maxListed
	}
	for e, err := range j.Read(ctx, q) {
		switch {
		case errors.Is(err, journal.ErrEntry):
			r.unreadable++
		case err != nil:
			return r, err
		case e.Event != journal.Dropped || w.name == "":
			r.all = append(r.all, e)
		}
	}
	return r, nil
}

// records asks for the jobs likewise.
func records(b *Board) (readings[journal.Job], error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstPicture)
	defer cancel()
	good := func(a memo.Answer[readings[journal.Job]]) bool { return time.Since(a.At) <= seen.Interval }
	got := b.records.Get(ctx, "", good, func() (readings[journal.Job], error) { return readingsOf(b.Journal.Jobs(ctx)) })
	return got.Value, got.Err
}
