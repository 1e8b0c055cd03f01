package dashboard

import (
	"context"
	"iter"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// Journal is the record of the past. [JournalIn] makes the usual one.
type Journal interface {
	// Read yields the entries that a query selects, like journal.Read. It ignores
	// KeyPrefix.
	Read(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error]
	// Follow yields entries as they are written, like journal.Follow, until ctx
	// ends. It ignores KeyPrefix.
	Follow(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error]
	// Hours lists the sums of past hours, like journal.Hours.
	Hours(ctx context.Context) (hours []journal.Hour, unreadable int, err error)
	// Jobs lists the jobs that "holdfast run" has recorded, like journal.Jobs.
	Jobs(ctx context.Context) (jobs []journal.Job, unreadable int, err error)
}

// JournalIn is the journal in a store, of Clients whose Options.Prefix is
// keyPrefix.
func JournalIn(store driver.Store, keyPrefix string) Journal { return stored{store, keyPrefix} }

type stored struct {
	store  driver.Store
	prefix string
}

func (s stored) Read(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	q.KeyPrefix = s.prefix
	return journal.Read(ctx, s.store, q)
}

func (s stored) Follow(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	q.KeyPrefix = s.prefix
	return journal.Follow(ctx, s.store, q)
}

func (s stored) Hours(ctx context.Context) ([]journal.Hour, int, error) {
	return journal.Hours(ctx, s.store, s.prefix)
}

func (s stored) Jobs(ctx context.Context) ([]journal.Job, int, error) {
	return journal.Jobs(ctx, s.store, s.prefix)
}
