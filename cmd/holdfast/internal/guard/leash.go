// Package guard runs a command under a guard, a second process of this program, which kills
// it when the lease has ended, even if this process is killed or frozen.
package guard

import "time"

// killMargin is how long before the lease's deadline the last process is sent
// KILL, at most; short ttls get a tenth of what is left. It pays for the time
// that killing takes and for a guard that reads the clock late.
const killMargin = 100 * time.Millisecond

// Instant is a time in nanoseconds on the clock that this process and its guard
// share, see clock.
type Instant int64

// Add is d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Leash is the time that a command has: from term on it is asked to stop, at
// kill the guard makes it stop, and at last the supervisor does so itself.
type Leash struct{ term, Kill, Last Instant }

// NewLeash derives a leash from one reading of a lease that had left to go at now.
//
// What is left may be much less than a ttl, since a grant that was pushed lives
// only for its claim window until it is renewed. So grace is cut to a third of
// what is left: otherwise such a command would be stopped as soon as it starts.
func NewLeash(now Instant, left, grace time.Duration) Leash {
	margin := min(killMargin, left/10)
	kill := now.Add(left - margin)
	return Leash{term: kill.Add(-min(grace, left/3)), Kill: kill, Last: kill.Add(margin / 2)}
}

// Cut makes a leash end at kill, if it does not end before. A command on it has
// been asked to stop.
func (l Leash) Cut(kill Instant) Leash {
	kill = min(kill, l.Kill)
	return Leash{term: min(kill, l.term), Kill: kill, Last: kill + (l.Last - l.Kill)}
}

// Ending is how a job ended.
type Ending struct {
	Code    int   // exit code of the command, 128+n for signal n
	Stopped bool  // the guard stopped it
	Asked   bool  // it was passed a signal that asks to end
	Lost    error // it was stopped because of this
	Err     error // the command could not be run, or not to its end; an ExitError
}
