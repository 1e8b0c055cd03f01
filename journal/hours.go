package journal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// Hour has the sums of one hour. They last longer than the entries: on a busy server the
// stream has only minutes.
type Hour struct {
	Begin   time.Time     // by the server's clock
	Granted int64         // leases that began
	Lost    int64         // leases that expired, or were gone or taken
	Waited  time.Duration // by all grants
	Longest time.Duration // longest wait of a grant
}

// Hours returns the sums of the last 8 days, the oldest first. Hours without grants and
// losses are left out, and the newest hour is not over. The sums reach back to the first
// [Writer] of the prefix that wrote them. The prefix is [Options.Prefix] of the Writers.
func Hours(ctx context.Context, store driver.Store, prefix string) ([]Hour, error) {
	c := caller{store: store, patience: toRead}
	reply, err := c.eval(ctx, driver.Call{Script: script.JournalSums, Keys: []string{sumsKey(keyPrefix(prefix))}})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, explained(err)
	case len(reply)%2 != 1 || reply[0] != "sums":
		return nil, errUnexpected
	}
	var hours []Hour
	for pair := range slices.Chunk(reply[1:], 2) {
		hour, err := strconv.ParseInt(pair[0], 10, 32)
		h := Hour{Begin: time.Unix(hour*3600, 0)}
		var waited, longest int64
		if _, bad := fmt.Sscanf(pair[1], "%d %d %d %d", &h.Granted, &h.Lost, &waited, &longest); err != nil || bad != nil {
			continue // no Writer wrote it
		}
		h.Waited, h.Longest = us(waited), us(longest)
		hours = append(hours, h)
	}
	slices.SortFunc(hours, func(a, b Hour) int { return cmp.Compare(a.Begin.Unix(), b.Begin.Unix()) })
	return hours, nil
}
