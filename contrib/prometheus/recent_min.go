package holdfastprom

import (
	"sync"
	"time"
)

// recentMin is the smallest value noted in the last 5 minutes. Any number of scrapers may read
// it, because no scrape resets it.
type recentMin struct {
	mu      sync.Mutex
	minutes [5]struct {
		minute int64 // since 1970
		value  float64
	}
}

func (l *recentMin) note(value float64) {
	minute := time.Now().Unix() / 60
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.minutes[minute%int64(len(l.minutes))]
	if m.minute != minute {
		m.minute, m.value = minute, value
	}
	m.value = min(m.value, value)
}

// of is the least value of late; known is false when none was noted.
func (l *recentMin) of(now time.Time) (value float64, known bool) {
	minute := now.Unix() / 60
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.minutes {
		if m.minute <= minute-int64(len(l.minutes)) || m.minute == 0 {
			continue
		}
		if !known || m.value < value {
			value, known = m.value, true
		}
	}
	return value, known
}
