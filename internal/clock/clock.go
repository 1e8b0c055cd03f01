// Package clock tells a Client the time and wakes it up.
//
// A lease must end during a suspend of the machine as it does in Redis. Go's own time
// stands still then, so a [Clock] reads a clock of the system that runs on. Nothing here is
// ever sent anywhere: an [Instant] means something in this process only, and the one
// function that makes a deadline of an instant and a TTL is [Deadline].
//
// A [Schedule] holds the timers of one Client in a heap, with one system timer for all of
// them. It also sees to it that a Client looks at its clock soon after a suspend.
//
// A [Seam] replaces time and randomness in tests of this project.
package clock

import (
	"sync/atomic"
	"time"
)

// Instant is a reading of a [Clock]: nanoseconds since a moment that means nothing
// elsewhere. A clock never reads 0, which is the Instant of what has not happened.
type Instant int64

// first is the first reading of a clock that begins with the process.
const first = time.Second

// Never is later than any reading.
const Never = Instant(1<<63 - 1)

// Add returns i+d, or [Never] where that overflows: a duration may be the longest there is.
func (i Instant) Add(d time.Duration) Instant {
	if s := i + Instant(d); d < 0 || s >= i {
		return s
	}
	return Never
}

// Sub returns i-j.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Deadline returns when a holder must stop whose key got this TTL from Redis. That is
// before the key expires, by a margin for clocks whose rates differ by less than 1 % and
// for the error of [Clock.Now]. start must have been read before Redis set the TTL.
// Nothing else computes deadlines. See docs/protocol.md.
func Deadline(start Instant, ttl time.Duration) Instant {
	return start.Add(ttl - ttl/100 - 2*time.Millisecond)
}

// Clock runs on while the machine is suspended and never steps. Reading the
// system's clock of that kind is slow, because it may be a system call. So [Clock.Now]
// reads Go's monotonic clock, which is cheap, and measures the difference once per
// millisecond.
type Clock struct {
	exact func() Instant
	cheap func() Instant // nil: exact is used for both
	gauge atomic.Pointer[gauge]
}

// gauge is one measurement. Its two figures travel together: a goroutine that
// was stopped between the two readings leaves a wrong difference, and an at
// that is as old as that difference is wrong, so nobody uses it.
type gauge struct {
	at    Instant // by cheap
	ahead Instant // how far exact was ahead of cheap
}

// nowError bounds how far Now can be from Exact. The margin of a deadline is more than that.
const nowError = Instant(time.Millisecond)

// New returns the machine's clock, or one that reads simulated if that is not nil.
func New(simulated func() time.Duration) *Clock {
	if simulated != nil {
		return &Clock{exact: func() Instant { return Instant(simulated()) }}
	}
	began := time.Now()
	c := &Clock{exact: suspendAware(), cheap: func() Instant { return Instant(time.Since(began)) }}
	c.Exact()
	return c
}

// Now returns the time, at most 1 ms wrong. Most calls cost a reading of Go's monotonic
// clock. Right after a suspend it may be behind by the length of that suspend, for at most
// 1 ms of running.
func (c *Clock) Now() Instant {
	if c.cheap == nil {
		return c.exact()
	}
	cheap := c.cheap()
	g := c.gauge.Load()
	if cheap-g.at > nowError {
		return c.Exact()
	}
	return cheap + g.ahead
}

// Exact returns the time by the clock that runs on in a suspend, at the price of reading
// that clock. It is for what must be right also in the first millisecond after a suspend, such as
// whether a lease has ended.
func (c *Clock) Exact() Instant {
	if c.cheap == nil {
		return c.exact()
	}
	cheap := c.cheap() // first, or at would not be as old as ahead is wrong
	exact := c.exact()
	c.gauge.Store(&gauge{at: cheap, ahead: exact - cheap})
	return exact
}
