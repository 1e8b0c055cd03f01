package journal

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// Typical returns how long a name is usually held: the median of its newest holds that
// were released by their callers, 50 at most. It returns false for fewer than three holds, or if Redis
// does not answer before ctx ends. It reads the newest 10,000 entries at most. The
// prefix is [holdfast.Options.Prefix] of the Client.
func Typical(ctx context.Context, store driver.Store, prefix, name string) (time.Duration, bool) {
	var holds []time.Duration
	for e, err := range Read(ctx, store, Query{KeyPrefix: prefix, Name: name, Newest: true, pages: 20}) {
		if err == nil && e.Event == Released && e.Cause == "" {
			holds = append(holds, e.Held)
		}
		if len(holds) == 50 {
			break
		}
	}
	if len(holds) < 3 {
		return 0, false
	}
	slices.Sort(holds)
	return holds[len(holds)/2], true
}
