package once

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/memory"
)

const (
	// TooMany is how many calls within one period are too many for a caller that ticks.
	TooMany = 4
	// apart is the part of a period within which several calls count as one: callers of one
	// process that tick at the same time.
	apart = 20

	paceNames = 1024 // of more names, Pace forgets the calls of some
)

// Pace notices names that a process calls much more often than their period, such as a job that
// cron starts every 2 s with a period of 10 s. It is safe for concurrent use. The zero value is
// ready.
type Pace struct {
	mu    sync.Mutex // protects the rest
	names memory.Recent[*calls]
}

// calls are the newest calls for one name.
type calls struct {
	at     [TooMany]clock.Instant // the newest is the last
	counts int                    // how many of them there were; -1: too many once, so count no more
}

// Called notes a call for a tick. It reports, once for each name, that there were too many
// within a period.
func (p *Pace) Called(name string, period time.Duration, now clock.Instant) bool {
	c, unlock := p.of(name, now)
	defer unlock()
	if c.counts < 0 || c.counts > 0 && now.Sub(c.at[TooMany-1]) < period/apart {
		return false
	}
	copy(c.at[:], c.at[1:])
	c.at[TooMany-1] = now
	c.counts = min(c.counts+1, TooMany)
	if c.counts < TooMany || now.Sub(c.at[0]) >= period {
		return false
	}
	c.counts = -1
	return true
}

// Again notes that the newest run does not count, so it is right to call again within the
// period.
func (p *Pace) Again(name string, now clock.Instant) {
	c, unlock := p.of(name, now)
	defer unlock()
	c.counts = min(c.counts, 0)
}

func (p *Pace) of(name string, now clock.Instant) (c *calls, unlock func()) {
	p.mu.Lock()
	if p.names.Limit == 0 {
		p.names = memory.Recent[*calls]{Age: 24 * time.Hour, Limit: paceNames}
	}
	return p.names.Of(name, now, func() *calls { return new(calls) }), p.mu.Unlock
}
