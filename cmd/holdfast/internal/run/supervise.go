package run

import (
	"os"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/guard"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/signals"
)

// supervisor keeps a job on the leash of its lease.
//
// The guard stops the job. The supervisor sends it the leash, and kills by itself only
// what outlives its time, in case the guard is frozen.
type supervisor struct {
	lease *holdfast.Lease
	job   *guard.Job
	grace time.Duration
	say   func(format string, args ...any)
	late  func(left time.Duration) // called while a renewal is overdue

	until   guard.Instant // end of the lease as of the newest answered renewal
	given   time.Duration // what was left of it then
	leash   guard.Leash
	maxHold guard.Instant // when the job has run long enough; 0: never
	lost    error         // why the job is being stopped
	refused bool          // ctrl-Z was, and that was said
	asked   bool          // a signal that asks to end was passed on
}

// watch returns when nothing of the job is alive.
func (s *supervisor) watch(signals <-chan os.Signal) guard.Ending {
	s.compare()
	// A renewal adds about a third of the ttl: ten polls in that time see it soon, and four
	// per second are enough.
	every := min(s.lease.Remaining()/30, 250*time.Millisecond)
	ticker := time.NewTicker(max(every, time.Millisecond))
	defer ticker.Stop()
	over := s.lease.Done()
	enough := s.enough()
	for {
		select {
		case end := <-s.job.Done:
			return s.settle(end)
		case sig := <-signals:
			s.pass(sig)
		case <-over:
			over = nil
			s.compare()
		case <-enough:
			s.compare()
		case <-ticker.C:
			s.compare()
		}
	}
}

// compare compares the lease with the leash.
func (s *supervisor) compare() {
	now := guard.Now() // before Remaining: a pause in between makes the leash shorter, never longer
	left, err := s.lease.Remaining(), s.lease.Err()
	switch {
	case s.lost != nil:
	case err != nil:
		s.stop(err, now)
	case s.maxHold > 0 && now >= s.maxHold: // the lease is renewed on until nothing of the job is alive
		s.stop(&holdfast.LostError{Name: s.lease.Name(), Token: s.lease.Token(), Cause: holdfast.MaxHold}, now)
	case now.Add(left) > s.until.Add(left/100):
		s.until, s.given = now.Add(left), left
		s.leash = guard.NewLeash(now, left, s.grace)
		s.job.Hold(s.leash)
	case left < s.given/2: // one was due when two thirds were left
		s.late(left)
	}
	if now >= s.leash.Last {
		s.job.Kill()
	}
}

// stop ends the job, with time to stop by itself.
func (s *supervisor) stop(why error, now guard.Instant) {
	s.lost = why
	s.leash = s.leash.Cut(now.Add(s.grace))
	s.job.End(s.leash.Kill)
}

// enough fires when the job has run for --max-hold. The ticker sees that too, in case the
// machine was suspended.
func (s *supervisor) enough() <-chan time.Time {
	if s.maxHold == 0 {
		return nil
	}
	return time.After(max(0, s.maxHold.Sub(guard.Now())))
}

// pass hands a signal on to the command.
func (s *supervisor) pass(sig os.Signal) {
	if !signals.Stops(sig) {
		s.asked = s.asked || signals.Ends(sig)
		s.job.Signal(sig)
		return
	}
	if !s.refused {
		s.refused = true
		s.say("ctrl-Z is refused: a stopped command would keep %s locked", s.lease.Name())
	}
}

// settle says why a job ended. A stop because of a lost lease comes first, with any exit
// code of the command, and even if a late renewal kept the lease.
func (s *supervisor) settle(end guard.Ending) guard.Ending {
	if end.Stopped && s.lost == nil {
		s.lost = &holdfast.LostError{Name: s.lease.Name(), Cause: holdfast.Expired}
	}
	if s.lost != nil {
		end.Lost, end.Err = s.lost, nil
	}
	return end
}
