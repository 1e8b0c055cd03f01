package dashboard

import (
	"context"
	"iter"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// Journal is the record of the past. [JournalIn] makes the usual one.
type Journal interface {
	// Recent returns at most limit entries of a name, newest first. An empty
	// name means all names.
	Recent(ctx context.Context, name string, limit int) ([]journal.Entry, error)
	// Follow yields entries as they are written, from now on, until ctx ends.
	// An error is its last element.
	Follow(ctx context.Context) iter.Seq2[journal.Entry, error]
	// Jobs lists the jobs that "holdfast run" has recorded.
	Jobs(ctx context.Context) ([]journal.Job, error)
}

// JournalIn is the journal in a store, of Clients whose Options.Prefix is
// keyPrefix.
func JournalIn(store driver.Store, keyPrefix string) Journal { return stored{store, keyPrefix} }

type stored struct {
	store  driver.Store
	prefix string
}

func (s stored) Recent(ctx context.Context, name string, limit int) (entries []journal.Entry, err error) {
	for e, err := range journal.Read(ctx, s.store, journal.Query{KeyPrefix: s.prefix, Name: name, Limit: limit, Newest: true}) {
		if err != nil {
			return entries, err
		}
		if e.Event == journal.Dropped && name != "" {
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (s stored) Follow(ctx context.Context) iter.Seq2[journal.Entry, error] {
	return journal.Follow(ctx, s.store, journal.Query{KeyPrefix: s.prefix})
}

func (s stored) Jobs(ctx context.Context) ([]journal.Job, error) {
	return journal.Jobs(ctx, s.store, s.prefix)
}
