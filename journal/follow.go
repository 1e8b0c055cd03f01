package journal

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// ErrRewound means that the stream has lost its newest entries, by a failover to a
// replica that lagged, or by a deletion. Entries that came meanwhile may be missing.
// [Follow] yields it.
var ErrRewound = errors.New("holdfast: journal: Redis lost the newest entries of the journal; some may be missing here")

// pollEvery is how often Follow asks.
const pollEvery = 250 * time.Millisecond

// Follow yields entries as they arrive. It begins at q.Since, or after q.After, or else
// with new entries. It ignores q.Limit, q.Until and q.Newest. It polls four times a
// second.
//
// If Redis does not answer or refuses, Follow yields that error once and retries after
// up to 2 s. It then yields the entries that came meanwhile, or [ErrRewound] if some
// may be missing. It ends when ctx ends, when the loop breaks, and if q.After is not an
// ID.
func Follow(ctx context.Context, store driver.Store, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q.Limit, q.Until, q.Newest = 0, time.Time{}, false
		f := follower{reader: reader{caller: caller{store: store, patience: toRead}, query: q}}
		switch {
		case q.After != "":
			after, err := parseID(q.After)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			f.last, f.placed = after, true
		case !q.Since.IsZero():
			f.last, f.placed = idAt(q.Since).before(), true
		}
		f.behind = f.placed
		for ctx.Err() == nil {
			again, more := f.poll(ctx, yield)
			if !more {
				return
			}
			if !again {
				pause(ctx, f.wait())
			}
		}
	}
}

// follower is a reader at the end of the stream.
type follower struct {
	reader
	last   id // the last that was looked at
	placed bool
	behind bool // last may be older than all of the stream, or newer: it was given
	fails  int
}

// poll reads one page. again: there is more at once. more: go on at all.
func (f *follower) poll(ctx context.Context, yield func(Entry, error) bool) (again, more bool) {
	least := f.last.next()
	if !f.placed {
		least = lastID // only where the end is
	}
	p, err := f.page(ctx, least, lastID)
	if err != nil {
		if ctx.Err() != nil {
			return false, false
		}
		f.fails++
		return false, f.fails > 1 || yield(Entry{}, err)
	}
	f.fails = 0
	if !f.placed {
		f.last, f.placed = p.newest, true
		return false, true
	}
	if p.newest.less(f.last) && !f.behind {
		f.last = p.newest
		return true, yield(Entry{}, ErrRewound)
	}
	if !f.last.less(p.cursor) { // nothing, or the last possible ID again
		return false, true
	}
	f.last, f.behind = p.cursor, false
	return p.scanned == pageSize, f.give(p, yield)
}

func (f *follower) wait() time.Duration {
	return min(pollEvery<<min(f.fails, 3), 2*time.Second)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
