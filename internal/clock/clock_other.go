//go:build !linux

package clock

import (
	"sync"
	"time"
)

// suspendAware advances by whichever of the monotonic and the wall clock
// went further since the last reading. The wall clock runs in suspend; a step
// of it forward ends leases early, which is safe, a step back is ignored.
func suspendAware() func() Instant {
	var mu sync.Mutex
	sum := first
	last := time.Now()
	return func() Instant {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		sum += max(0, now.Sub(last), now.Round(0).Sub(last.Round(0)))
		last = now
		return Instant(sum)
	}
}

// InBubble reports whether the caller runs in a testing/synctest bubble, whose clock
// begins in the year 2000.
func InBubble() bool { return time.Now().Year() == 2000 }
