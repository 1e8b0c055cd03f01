package holdfast

import (
	"sync/atomic"
	"time"
)

// instant is a reading of this process's clock: nanoseconds since a moment
// that means nothing elsewhere. It is never sent to anybody.
type instant int64

// add is i and d more, or never: a duration may be the longest there is.
func (i instant) add(d time.Duration) instant {
	if s := i + instant(d); d < 0 || s >= i {
		return s
	}
	return never
}
func (i instant) sub(j instant) time.Duration { return time.Duration(i - j) }

// clock runs on while the machine is suspended and never steps: a lease must
// end during a suspend as it does in Redis. The system's clock of that kind is
// dear, it may cost a system call; so now reads the cheap monotonic clock and
// measures the difference once per millisecond.
type clock struct {
	dear  func() instant
	cheap func() instant // nil: dear is used for both
	gauge atomic.Pointer[gauge]
}

// gauge is one measurement. Its two figures travel together: a goroutine that
// was stopped between the two readings leaves a wrong difference, and an at
// that is as old as that difference is wrong, so nobody uses it.
type gauge struct {
	at    instant // by cheap
	ahead instant // how far dear was ahead of cheap
}

// clockError bounds how far now can be from the truth; the margin of a
// deadline is more than that.
const clockError = instant(time.Millisecond)

func newClock(simulated func() time.Duration) *clock {
	if simulated != nil {
		return &clock{dear: func() instant { return instant(simulated()) }}
	}
	began := time.Now()
	c := &clock{dear: suspendAwareClock(), cheap: func() instant { return instant(time.Since(began)) }}
	c.look()
	return c
}

// now is the time, to within clockError.
func (c *clock) now() instant {
	if c.cheap == nil {
		return c.dear()
	}
	cheap := c.cheap()
	g := c.gauge.Load()
	if cheap-g.at > clockError {
		return c.look()
	}
	return cheap + g.ahead
}

// look is the exact time.
func (c *clock) look() instant {
	if c.cheap == nil {
		return c.dear()
	}
	cheap := c.cheap() // first, or at would not be as old as ahead is wrong
	dear := c.dear()
	c.gauge.Store(&gauge{at: cheap, ahead: dear - cheap})
	return dear
}
