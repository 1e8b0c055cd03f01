package journal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

const (
	typicalPages = 20              // of pageSize entries: the newest 10,000
	typicalHolds = 50              // of one name, the newest
	typicalFor   = time.Minute     // until TypicalHolds reads again
	typicalWait  = 5 * time.Second // for one reading of TypicalHolds
)

// Typical returns how long a name is usually held: the median of its newest holds that
// were released by their callers, 50 at most. It returns false for fewer than three
// holds, or if Redis does not answer before ctx ends. It reads the newest 10,000 entries
// at most. The prefix is [holdfast.Options.Prefix] of the Client.
func Typical(ctx context.Context, store driver.Store, prefix, name string) (time.Duration, bool) {
	holds, _ := newestHolds(ctx, store, prefix, name)
	return median(holds[name])
}

// TypicalHolds returns a function like [Typical] for all names of a prefix, such as
// diagnose.Options.Typical. Its first call reads the newest 10,000 entries once, for all
// names. A call more than a minute later reads them again. That takes Redis about 20 ms,
// and the call 5 s at most. If Redis does not answer, the function goes on with what it
// knows. It may be called from several goroutines.
func TypicalHolds(store driver.Store, prefix string) func(name string) (typical time.Duration, ok bool) {
	var mu sync.Mutex // protects the rest
	var known map[string][]time.Duration
	var read time.Time
	return func(name string) (time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		if read.IsZero() || time.Since(read) >= typicalFor {
			ctx, cancel := context.WithTimeout(context.Background(), typicalWait)
			defer cancel()
			if holds, err := newestHolds(ctx, store, prefix, ""); err == nil || known == nil {
				known = holds
			}
			read = time.Now()
		}
		return median(known[name])
	}
}

// newestHolds returns the newest holds that were released, of one name or of all if it is
// empty. An error ends it early.
func newestHolds(ctx context.Context, store driver.Store, prefix, name string) (map[string][]time.Duration, error) {
	holds := map[string][]time.Duration{}
	for e, err := range Read(ctx, store, Query{KeyPrefix: prefix, Name: name, Newest: true, Event: Released, pages: typicalPages}) {
		switch {
		case errors.Is(err, ErrEntry), err == nil && e.Cause != "": // an exported hold has no caller
			continue
		case err != nil:
			return holds, err
		}
		if len(holds[e.Name]) < typicalHolds {
			holds[e.Name] = append(holds[e.Name], e.Held)
		}
		if name != "" && len(holds[name]) == typicalHolds {
			break
		}
	}
	return holds, nil
}

// median returns false for fewer than three holds.
func median(holds []time.Duration) (time.Duration, bool) {
	if len(holds) < 3 {
		return 0, false
	}
	holds = slices.Sorted(slices.Values(holds))
	return holds[len(holds)/2], true
}
