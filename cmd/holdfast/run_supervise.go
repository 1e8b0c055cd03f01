package main

import (
	"os"
	"time"

	"github.com/holdfast-go/holdfast"
)

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

// supervisor keeps a job on the leash of its lease.
//
// The guard stops the job. The supervisor sends it the leash, and kills by itself only
// what outlives its time, in case the guard is frozen.
type supervisor struct {
	lease *holdfast.Lease
	job   *job
	grace time.Duration
	say   func(format string, args ...any)
	late  func(left time.Duration) // called while a renewal is overdue

	until   instant       // end of the lease as of the newest answered renewal
	given   time.Duration // what was left of it then
	leash   leash
	most    instant // when the job has run long enough; 0: never
	lost    error   // why the job is being stopped
	refused bool    // ctrl-Z was, and that was said
	asked   bool    // a signal that asks to end was passed on
}

// watch returns when nothing of the job is alive.
func (s *supervisor) watch(signals <-chan os.Signal) ending {
	s.look()
	// A renewal adds about a third of the ttl: ten polls in that time see it soon, and four
	// per second are enough.
	every := min(s.lease.Remaining()/30, 250*time.Millisecond)
	ticker := time.NewTicker(max(every, time.Millisecond))
	defer ticker.Stop()
	over := s.lease.Done()
	enough := s.enough()
	for {
		select {
		case end := <-s.job.done:
			return s.settle(end)
		case sig := <-signals:
			s.pass(sig)
		case <-over:
			over = nil
			s.look()
		case <-enough:
			s.look()
		case <-ticker.C:
			s.look()
		}
	}
}

// look compares the lease with the leash.
func (s *supervisor) look() {
	now := clock() // before Remaining: a pause in between makes the leash shorter, never longer
	left, err := s.lease.Remaining(), s.lease.Err()
	switch {
	case s.lost != nil:
	case err != nil:
		s.stop(err, now)
	case s.most > 0 && now >= s.most: // the lease is renewed on until nothing of the job is alive
		s.stop(&holdfast.LostError{Name: s.lease.Name(), Token: s.lease.Token(), Cause: holdfast.MaxHold}, now)
	case now.add(left) > s.until.add(left/100):
		s.until, s.given = now.add(left), left
		s.leash = newLeash(now, left, s.grace)
		s.job.hold(s.leash)
	case left < s.given/2: // one was due when two thirds were left
		s.late(left)
	}
	if now >= s.leash.last {
		s.job.kill()
	}
}

// stop ends the job, with time to stop by itself.
func (s *supervisor) stop(why error, now instant) {
	s.lost = why
	s.leash = s.leash.cut(now.add(s.grace))
	s.job.end(s.leash.kill)
}

// enough fires when the job has run for --max-hold. The ticker sees that too, in case the
// machine was suspended.
func (s *supervisor) enough() <-chan time.Time {
	if s.most == 0 {
		return nil
	}
	return time.After(max(0, s.most.sub(clock())))
}

// pass hands a signal on to the command.
func (s *supervisor) pass(sig os.Signal) {
	if !stops(sig) {
		s.asked = s.asked || ends(sig)
		s.job.signal(sig)
		return
	}
	if !s.refused {
		s.refused = true
		s.say("ctrl-Z is refused: a stopped command would keep %s locked", s.lease.Name())
	}
}

// settle says why a job ended. A stop because of a lost lease comes first, with any exit
// code of the command, and even if a late renewal kept the lease.
func (s *supervisor) settle(end ending) ending {
	if end.stopped && s.lost == nil {
		s.lost = &holdfast.LostError{Name: s.lease.Name(), Cause: holdfast.Expired}
	}
	if s.lost != nil {
		end.lost, end.err = s.lost, nil
	}
	return end
}
