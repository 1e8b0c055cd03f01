package sim_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A failover may bring the former id of a part back that was made smaller. Then it is the
// part itself, and the Client must not take it for a leftover.

// smallerParts are the parts to try: what is held at first, what stays, and what another
// process must not get meanwhile.
var smallerParts = map[string]struct{ whole, rest, other sim.Part }{
	"Downgrade": {write, read, write},
	"Keep":      {permits(5, 5), permits(2, 5), permits(4, 5)},
}

// tries asks for a part that is not free.
func (s stage) tries(l *sim.Link, name string, p sim.Part) {
	s.t.Helper()
	var lease *holdfast.Lease
	var err error
	if p.Size > 0 {
		lease, err = l.Client.Semaphore(name, p.Size).TryAcquire(s.t.Context(), p.N)
	} else {
		lease, err = l.Client.RWMutex(name).TryLock(s.t.Context())
	}
	if !errors.Is(err, holdfast.ErrHeld) {
		s.t.Errorf("a try: %v, want ErrHeld", err)
	}
	if lease != nil {
		_ = lease.Release()
	}
}

// The same Client tries to get the name, and hears that its former id holds it. That is
// renewed at once, and so made smaller again.
func TestSmallerBackByAFailover(t *testing.T) {
	for name, part := range smallerParts {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				s.Replicate(1)
				p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
				holder := s.take(p0, "n", part.whole)
				s.Freeze(0)
				holder.mustBecome(part.rest)
				down := true
				s.on(func(step sim.Step, f *sim.Fate) {
					f.LoseOut = down && step.Process == 0 && step.Kind == "shared_renew"
				})
				s.Failover(0, 10*time.Millisecond)
				time.Sleep(200 * time.Millisecond) // the renewals that the failover brings about are lost
				s.tries(p0, "n", part.other)
				time.Sleep(100 * time.Millisecond)
				s.tries(p1, "n", part.other)
				s.Guard(func() { down = false })
				s.tries(p0, "n", part.other)
				s.soon("what is free", s.wants(p2, "n", part.rest), 20*time.Millisecond).release()
				s.tries(p1, "n", part.other)
				s.lookFor("n", 6*time.Second)
				if err := holder.Err(); err != nil {
					t.Errorf("the lease: %v", err)
				}
				holder.release()
				time.Sleep(time.Second)
				s.none("n")
			})
		})
	}
}

// The first lock was not answered, and may come late. What it would leave is cancelled when the
// lease has ended, and not while a failover may have brought the former id back.
func TestSmallerIsNotCancelled(t *testing.T) {
	for name, part := range smallerParts {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				s.Replicate(1)
				p0, p1 := s.process("p0", time.Minute), s.process("p1", 15*time.Second)
				locks, cancels, down := 0, 0, false
				s.on(func(step sim.Step, f *sim.Fate) {
					switch {
					case step.Process != 0:
					case step.Kind == "shared_lock":
						locks++
						f.LoseOut = locks == 1
					case step.Kind == "shared_unlock":
						cancels++
					case step.Kind == "shared_renew":
						f.LoseOut = down
					}
				})
				holder := s.take(p0, "n", part.whole)
				s.Freeze(0)
				holder.mustBecome(part.rest)
				time.Sleep(500 * time.Millisecond)
				s.Guard(func() { down = true })
				s.Failover(0, 10*time.Millisecond)
				for range 8 {
					time.Sleep(time.Second)
					s.tries(p1, "n", part.other)
				}
				s.Guard(func() { down = false })
				s.lookFor("n", 20*time.Second)
				if err := holder.Err(); err != nil || cancels > 0 || locks != 2 {
					t.Errorf("the lease: %v; %d cancels and %d locks, want 0 and 2", err, cancels, locks)
				}
				holder.release()
				time.Sleep(3 * time.Second)
				s.none("n")
				if cancels < 3 { // the release, a cancel and its repetition
					t.Errorf("%d releases and cancels, want 3", cancels)
				}
			})
		})
	}
}

// A lease has ended by an order and its holder is stopping. A failover brings the former id
// back, the same Client hears of it, and leaves it alone until Release.
func TestDowngradeOverIsLeftAlone(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(1)
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.take(p0, "n", write)
		s.Freeze(0)
		holder.mustBecome(read)
		if _, err := admin.Of(op.Client).Revoke(t.Context(), "n", s.hashOf(op, "n", "p0"), reason); err != nil {
			t.Fatal(err)
		}
		holder.over(6*time.Second, holdfast.Revoked, reason)
		renewals := 0
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind == "shared_renew" {
				renewals++
			}
		})
		s.Failover(0, 10*time.Millisecond)
		time.Sleep(200 * time.Millisecond)
		s.tries(p0, "n", write)
		time.Sleep(100 * time.Millisecond)
		s.tries(p1, "n", write)
		if renewals > 0 {
			t.Errorf("%d renewals of a lease that has ended", renewals)
		}
		holder.stops()
		time.Sleep(100 * time.Millisecond)
		s.none("n")
	})
}

// What is heard of a former id costs no more renewals than any that fail.
func TestSmallerIDArrivesOften(t *testing.T) {
	for name, fail := range map[string]func(f *sim.Fate){
		"refused": func(f *sim.Fate) { f.Refuse = "OOM command not allowed when used memory > 'maxmemory'." },
		"lost":    func(f *sim.Fate) { f.LoseOut = true },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				s.Replicate(1)
				p0 := s.process("p0", 15*time.Second)
				holder := s.take(p0, "n", write)
				s.Freeze(0)
				holder.mustBecome(read)
				renewals, fails := 0, true
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Kind == "shared_renew" {
						if renewals++; fails {
							fail(f)
						}
					}
				})
				s.Failover(0, 10*time.Millisecond)
				time.Sleep(200 * time.Millisecond)
				for range 500 {
					s.tries(p0, "n", write)
				}
				s.Guard(func() { fails = false })
				if renewals > 30 {
					t.Errorf("%d renewals beside 500 tries", renewals)
				}
				s.lookFor("n", 6*time.Second)
				holder.release()
			})
		})
	}
}

// A former id stands in the queue, wherever: the next renewal takes it out.
func TestDowngradeClearsQ(t *testing.T) {
	for name, test := range map[string]struct {
		score    float64
		deletesL bool
	}{"in front": {score: 1}, "behind": {score: 1 << 52}, "without L": {1, true}} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 15*time.Second)
				s.subscribe(p0)
				holder := s.take(p0, "n", write)
				next := s.wants(p1, "n", write)
				time.Sleep(time.Millisecond)
				lock, _, queue := sim.Keys("n")
				for former := range s.entries("n") {
					holder.mustBecome(read)
					s.Do("ZADD", queue, strconv.FormatFloat(test.score, 'f', 0, 64), former)
				}
				if test.deletesL {
					s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Process == 1 }) // or it makes the lock key again
					s.Do("DEL", lock)
				}
				time.Sleep(1200 * time.Millisecond)
				if n := s.Do("ZCARD", queue); n != int64(1) {
					t.Errorf("%v wait, want 1", n)
				}
				s.on(func(sim.Step, *sim.Fate) {})
				holder.release()
				s.soon("a writer", next, 5*time.Second).release()
			})
		})
	}
}

// A reader finds a former id in front of it and tells its Client, which takes it out. Then the reader
// comes in.
func TestDowngradeStaleIDInFront(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0)
		holder := s.take(p0, "n", write)
		_, _, queue := sim.Keys("n")
		for former := range s.entries("n") {
			holder.mustBecome(read)
			s.Do("ZADD", queue, "1", former)
		}
		s.soon("a reader", s.wants(p1, "n", read), 20*time.Millisecond).release()
		holder.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// A late lock is answered while renewals are lost, and the lease is released: what that lock has
// left is cancelled.
func TestDowngradeLateLockReleased(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		down := false
		holder, locks := s.lateWriter(func(f *sim.Fate) { f.LoseOut = down })
		s.Guard(func() { down = true })
		reader := s.take(s.process("p2", 15*time.Second), "n", read)
		time.Sleep(600 * time.Millisecond)
		holder.release()
		time.Sleep(10 * time.Millisecond)
		s.soon("a reader", s.wants(s.process("p3", 15*time.Second), "n", read), 10*time.Millisecond).release()
		reader.release()
		if *locks != 2 {
			t.Errorf("%d locks, want 2", *locks)
		}
	})
}
