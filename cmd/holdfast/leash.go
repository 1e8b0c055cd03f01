package main

import "time"

// killMargin is how long before the lease's deadline the last process is sent
// KILL, at most; short ttls get a tenth of what is left. It pays for the time
// that killing takes and for a guard that reads the clock late.
const killMargin = 100 * time.Millisecond

// instant is a time in nanoseconds on the clock that this process and its guard
// share, see clock.
type instant int64

func (i instant) add(d time.Duration) instant { return i + instant(d) }

func (i instant) sub(j instant) time.Duration { return time.Duration(i - j) }

// leash is the time that a command has: from term on it is asked to stop, at
// kill the guard makes it stop, and at last the supervisor does so itself.
type leash struct{ term, kill, last instant }

// newLeash derives a leash from one reading of a lease that had left to go at now.
//
// What is left may be much less than a ttl, since a grant that was pushed lives
// only for its claim window until it is renewed. So grace is cut to a third of
// what is left: otherwise such a command would be stopped as soon as it starts.
func newLeash(now instant, left, grace time.Duration) leash {
	margin := min(killMargin, left/10)
	kill := now.add(left - margin)
	return leash{term: kill.add(-min(grace, left/3)), kill: kill, last: kill.add(margin / 2)}
}

// cut makes a leash end at kill, if it does not end before. A command on it has
// been asked to stop.
func (l leash) cut(kill instant) leash {
	kill = min(kill, l.kill)
	return leash{term: min(kill, l.term), kill: kill, last: kill + (l.last - l.kill)}
}

// ending is how a job ended.
type ending struct {
	code    int   // exit code of the command, 128+n for signal n
	stopped bool  // the guard stopped it
	asked   bool  // it was passed a signal that asks to end
	lost    error // it was stopped because of this
	err     error // the command could not be run, or not to its end; an exitError
}
