package journal

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
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
// Hours leaves out sums that no Writer wrote; unreadable is their number.
func Hours(ctx context.Context, store driver.Store, prefix string) (hours []Hour, unreadable int, err error) {
	c := caller{store: store, patience: toRead}
	reply, err := c.eval(ctx, driver.Call{Script: script.JournalSums, Keys: []string{sumsKey(keyPrefix(prefix))}})
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil:
		return nil, 0, explained(err)
	case len(reply)%2 != 1 || reply[0] != "sums":
		return nil, 0, errUnexpected
	}
	for pair := range slices.Chunk(reply[1:], 2) {
		if h, ok := parseHour(pair[0], pair[1]); ok {
			hours = append(hours, h)
		} else {
			unreadable++
		}
	}
	slices.SortFunc(hours, func(a, b Hour) int { return cmp.Compare(a.Begin.Unix(), b.Begin.Unix()) })
	return hours, unreadable, nil
}

// maxWaited is the most that all grants of an hour can have waited: the sum of two does not overflow.
const maxWaited = 10 * longest

// parseHour reads a sum of journal_write. It is false for what no Writer wrote.
func parseHour(text, sums string) (h Hour, ok bool) {
	hour, err := strconv.ParseInt(text, 10, 32)
	part := strings.Split(sums, " ")
	if err != nil || itoa(hour) != text || hour < 0 || hour > maxCount/3_600_000_000 || len(part) != 4 {
		return Hour{}, false
	}
	var n [4]int64
	for i, text := range part {
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil || !counts(n[i]) {
			return Hour{}, false
		}
	}
	if n[3] > longest.Microseconds() || n[3] > n[2] || n[2] > maxWaited.Microseconds() {
		return Hour{}, false
	}
	return Hour{time.Unix(hour*3600, 0), n[0], n[1], us(n[2]), us(n[3])}, true
}
