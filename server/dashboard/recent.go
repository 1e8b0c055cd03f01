package dashboard

import (
	"context"
	"sync"
	"time"
)

const (
	mostRecent = 200 // entries of a journal on a page
	recentFor  = interval
)

// recent asks the journal for all who watch the same: at most once per interval and
// name.
type recent struct {
	mu    sync.Mutex // guards known
	known map[string]*reading
}

// reading is what the journal said of one name.
type reading struct {
	mu      sync.Mutex
	at      time.Time
	entries []Entry
	err     error
}

func (r *recent) of(ctx context.Context, journal Journal, name string) ([]Entry, error) {
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
	if time.Since(one.at) > recentFor {
		one.entries, one.err = journal.Recent(ctx, name, mostRecent)
		one.at = time.Now()
	}
	return one.entries, one.err
}
