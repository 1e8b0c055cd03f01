package journal

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/holdfast-go/holdfast"
)

// ErrRewound is what Follow yields when the stream has lost its end: after a
// failover to a replica that lagged, or when somebody deleted it. Entries that came
// meanwhile may be missing.
var ErrRewound = errors.New("holdfast: journal: the stream lost its end; entries may be missing here")

// looking is how often Follow asks.
const looking = 250 * time.Millisecond

// Follow yields entries as they come: those from q.Since on, or behind q.After, or
// else what comes from now on. Limit, Until and Newest do not count. A Store has no
// call that blocks, so it asks four times a second.
//
// While Redis does not answer, or refuses, it asks on, after up to two seconds: the
// error is yielded once, and what came meanwhile follows. ErrRewound is
// yielded where that is not all. It ends with ctx, by break, and at an After that
// is no ID.
func Follow(ctx context.Context, store holdfast.Store, q Query) iter.Seq2[Entry, error] {
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
			f.last, f.placed = id{max(0, q.Since.UnixMilli()-1), math.MaxInt64}, true
		}
		f.behind = f.placed
		for ctx.Err() == nil {
			again, more := f.look(ctx, yield)
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

// look reads one page. again: there is more at once. more: go on at all.
func (f *follower) look(ctx context.Context, yield func(Entry, error) bool) (again, more bool) {
	least := f.last.next()
	if !f.placed {
		least = id{math.MaxInt64, 0} // only where the end is
	}
	p, err := f.page(ctx, least, id{math.MaxInt64, math.MaxInt64})
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
	if p.looked > 0 {
		f.last, f.behind = p.cursor, false
	}
	return p.looked == pageSize, f.give(p, yield)
}

func (f *follower) wait() time.Duration {
	return min(looking<<min(f.fails, 3), 2*time.Second)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
