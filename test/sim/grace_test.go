package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// graces are holds with a MaxHold and a Grace, each with what another Client asks for.
var graces = map[string]struct {
	lock func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error)
	next func(c *holdfast.Client) (*holdfast.Lease, error)
}{
	"mutex": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			m := c.Mutex("n")
			m.MaxHold, m.Grace = most, grace
			return m.Lock(context.Background())
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").Lock(context.Background()) },
	},
	"permits": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			sem := c.Semaphore("n", 3)
			sem.MaxHold, sem.Grace = most, grace
			return sem.Acquire(context.Background(), 2)
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("n", 3).Acquire(context.Background(), 2)
		},
	},
	"reader": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			m := c.RWMutex("n")
			m.MaxHold, m.Grace = most, grace
			return m.RLock(context.Background())
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").Lock(context.Background()) },
	},
	"writer": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			m := c.RWMutex("n")
			m.MaxHold, m.Grace = most, grace
			return m.Lock(context.Background())
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").RLock(context.Background()) },
	},
	"leader": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			e := c.Election("n")
			e.MaxHold, e.Grace = most, grace
			return e.Campaign(context.Background(), "a")
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Election("n").Campaign(context.Background(), "b")
		},
	},
}

// Work that does not stop keeps the name for Grace after MaxHold and no longer; a Release
// gives it back before. Of all kinds.
func TestGrace(t *testing.T) {
	const most = 3 * time.Second
	for name, c := range graces {
		for what, g := range map[string]struct{ ttl, grace, release, want time.Duration }{
			"stated":       {15 * time.Second, 5 * time.Second, 0, 5 * time.Second},
			"default":      {15 * time.Second, 0, 0, 2 * time.Second},
			"short ttl":    {600 * time.Millisecond, 0, 0, 600 * time.Millisecond},
			"released":     {15 * time.Second, 5 * time.Second, time.Second, time.Second},
			"ttl is short": {2 * time.Second, 2 * time.Second, 0, 2 * time.Second},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				play(t, func(t *testing.T, s stage) {
					p0, p1 := s.process("p0", g.ttl), s.process("p1", 15*time.Second)
					lease, err := c.lock(p0.Client, most, g.grace)
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					released := make(chan error, 1)
					if g.release > 0 {
						time.AfterFunc(most+g.release, func() { released <- lease.Release() })
					}
					next, err := c.next(p1.Client)
					if err != nil {
						t.Fatal(err)
					}
					free := time.Since(began) - most
					if early := min(g.want, g.ttl/2); free < early-10*time.Millisecond || free > g.want+50*time.Millisecond {
						t.Errorf("the next gets it %v after MaxHold; want %v", free, g.want)
					}
					if next.Token() <= lease.Token() {
						t.Errorf("token %d after %d", next.Token(), lease.Token())
					}
					if g.release == 0 {
						released <- lease.Release()
					}
					var lost *holdfast.LostError
					if err := <-released; !errors.As(err, &lost) || lost.Cause != holdfast.MaxHold {
						t.Errorf("Release = %v; want lost: max hold", err)
					}
					time.Sleep(time.Second)
					if err := next.Err(); err != nil { // a late Release is nothing to it
						t.Errorf("the next: %v", err)
					}
					_ = next.Release()
					time.Sleep(time.Second)
					s.none("n")
				})
			})
		}
	}
}

// Redis does not hear that the name is free when Grace is over. When Release returns, it
// has.
func TestGraceThenRelease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Minute), s.process("p1", 6*time.Second)
		until := time.Now().Add(13 * time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = step.Kind == "unlock" && time.Now().Before(until)
		})
		first := s.atMost(p0, "n", 10*time.Second) // and 2 s
		first.endsAt(10 * time.Second)
		time.Sleep(2500 * time.Millisecond)
		s.Watch.Leaves(first.held)
		_ = first.Release()
		p0.Kill()
		s.soon("the next", s.waits(p1, "n"), 50*time.Millisecond).release()
	})
}

// After a Release the end of Grace sends nothing more.
func TestGraceAfterRelease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		first := s.atMost(p0, "n", 3*time.Second)
		first.endsAt(3 * time.Second)
		first.stops()
		s.on(func(step sim.Step, _ *sim.Fate) { t.Errorf("%s is sent after the release", step.Kind) })
		time.Sleep(3 * time.Second)
	})
}

// The process stood still when Grace began and ended, so its work had no time to stop:
// Grace begins when the lease was ended, not when it should have been.
func TestGraceAfterAPause(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Minute), s.process("p1", 6*time.Second)
		first := s.atMost(p0, "n", 10*time.Second)
		next := s.waits(p1, "n")
		time.Sleep(9 * time.Second)
		p0.Leap(9 * time.Second)
		first.over(300*time.Millisecond, holdfast.MaxHold, "")
		s.notBefore("the next", next, 1600*time.Millisecond)
		s.Watch.Leaves(first.held)
		s.soon("the next", next, 600*time.Millisecond).release()
		_ = first.Release()
	})
}

// Both: the name is in cool-down for what is left of MinHold when Grace is over.
func TestGraceThenCoolDown(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second)
		s.subscribe(p1)
		mutex := p0.Client.Mutex("n")
		mutex.MinHold, mutex.MaxHold = 30*time.Second, 10*time.Second
		h := s.Watch.Called(p0, "n")
		lease, err := mutex.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Watch.Granted(h, lease)
		next := s.waits(p1, "n")
		hold{lease, h, s}.endsAt(10 * time.Second)
		s.Watch.Leaves(h)
		s.afterCooldown(next, h.Got, 30*time.Second).release()
		_ = lease.Release()
	})
}

// On a quorum, too.
func TestQuorumGrace(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p, other := r.join(id, 30*time.Second, 1, 0, 1, 2), r.join(id, 30*time.Second, 1, 0, 1, 2)
		mutex := p.client.Mutex("n")
		mutex.MaxHold, mutex.Grace = 10*time.Second, 3*time.Second
		b, err := p.lockBy(t.Context(), "n", mutex.Lock)
		if err != nil {
			t.Fatal(err)
		}
		r.sleep(12900 * time.Millisecond)
		if got := r.has(0, "n"); got == "" {
			t.Error("it is free before Grace is over")
		}
		_ = p.release(b)
		next, err := other.lockBy(t.Context(), "n", other.client.Mutex("n").Lock)
		if err != nil {
			t.Fatal(err)
		}
		_ = other.release(next)

		if b, err = p.lockBy(t.Context(), "n", mutex.Lock); err != nil {
			t.Fatal(err)
		}
		r.sleep(14 * time.Second)
		for node := range 3 {
			if got := r.has(node, "n"); got != "" {
				t.Errorf("node %d has %q after Grace; want nothing", node, got)
			}
		}
		_ = p.release(b)
	})
}

// Nobody else campaigns: observers hear that nobody leads any more when the name was given back after Grace, also
// if Redis hears of that later.
func TestGraceIsAnnounced(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", time.Minute), s.process("p1", time.Minute)
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "unlock" {
					f.Out += late
				}
			})
			d := s.observes(p1)
			e := p0.Client.Election("n")
			e.MaxHold, e.Grace = 3*time.Second, 2*time.Second
			lease, err := e.Campaign(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(4900 * time.Millisecond)
			d.wants(s, "none", "a")
			d.wantsWithin(s, 200*time.Millisecond+late, "none", "a", "none")
			time.Sleep(20 * time.Second)
			d.wants(s, "none", "a", "none")
			_ = lease.Release()
			d.stop()
			<-d.over
		})
	}
}
