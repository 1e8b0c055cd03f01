package journal

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Typical is how long the name is held as a rule: the median of its newest holds
// that were given back, 50 at most. It is false where fewer than three are found, and
// where Redis does not say; ctx bounds that. It looks at no more than the newest 10,000 entries: at
// most 20 round trips. prefix is Options.Prefix of the Client.
func Typical(ctx context.Context, store holdfast.Store, prefix, name string) (time.Duration, bool) {
	var holds []time.Duration
	for e, err := range Read(ctx, store, Query{KeyPrefix: prefix, Name: name, Newest: true, look: 20}) {
		if err == nil && e.What == Released {
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
