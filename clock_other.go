//go:build !linux

package holdfast

import (
	"sync"
	"time"
)

// suspendAwareClock advances by whichever of the monotonic and the wall clock
// went further since the last reading. The wall clock runs in suspend; a step
// of it forward ends leases early, which is safe, a step back is ignored.
func suspendAwareClock() func() instant {
	var mu sync.Mutex
	var sum time.Duration
	last := time.Now()
	return func() instant {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		sum += max(0, now.Sub(last), now.Round(0).Sub(last.Round(0)))
		last = now
		return instant(sum)
	}
}

// inBubble reports whether the caller runs in a testing/synctest bubble, whose clock
// begins in the year 2000.
func inBubble() bool { return time.Now().Year() == 2000 }
