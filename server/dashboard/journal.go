package dashboard

import (
	"context"
	"iter"
	"sync"
	"time"

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

const (
	mostRecent = 300 // entries of a journal that a page reads
	recentFor  = interval
	sparing    = 20 // times as long as reading took, it is not read again: of a name with few entries all is read
)

// recent asks the journal for all who watch the same: at most once per interval and
// name, and for no more than a twentieth of the time.
type recent struct {
	mu    sync.Mutex // guards known
	known map[string]*reading
}

// reading is what the journal said of one name.
type reading struct {
	mu      sync.Mutex // held while the journal is asked
	at      time.Time
	took    time.Duration
	entries []journal.Entry
	err     error
}

func (r *recent) of(ctx context.Context, from Journal, name string) ([]journal.Entry, error) {
	r.mu.Lock()
	if len(r.known) > 1000 {
		clear(r.known)
	}
	if r.known == nil {
		r.known = map[string]*reading{}
	}
	one := r.known[name]
	if one == nil {
		one = &reading{}
		r.known[name] = one
	}
	r.mu.Unlock()

	one.mu.Lock()
	defer one.mu.Unlock()
	if time.Since(one.at) > max(recentFor, sparing*one.took) {
		began := time.Now()
		one.entries, one.err = from.Recent(ctx, name, mostRecent)
		one.at, one.took = time.Now(), time.Since(began)
	}
	return one.entries, one.err
}

// records asks for the jobs likewise.
type records struct {
	mu   sync.Mutex // held while the journal is asked
	at   time.Time
	jobs []journal.Job
	err  error
}

func (r *records) of(ctx context.Context, from Journal) ([]journal.Job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > recentFor {
		r.jobs, r.err = from.Jobs(ctx)
		r.at = time.Now()
	}
	return r.jobs, r.err
}
