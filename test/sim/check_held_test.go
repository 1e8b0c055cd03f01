package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// lockers are the ways to hold a name, by kind.
var lockers = map[string]func(c *holdfast.Client) holdfast.Locker{
	"mutex":   func(c *holdfast.Client) holdfast.Locker { return c.Mutex("n") },
	"permits": func(c *holdfast.Client) holdfast.Locker { return c.Semaphore("n", 4).Permits(2) },
	"permit":  func(c *holdfast.Client) holdfast.Locker { return c.Semaphore("n", 4).Permits(1) },
	"reader":  func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("n").RLocker() },
	"writer":  func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("n") },
}

// CheckHeld says how long the name is ours, prolongs nothing, and ends a lease that is lost.
func TestCheckHeld(t *testing.T) {
	for kind, locker := range lockers {
		t.Run(kind, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				lease, err := locker(p0.Client).Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = lease.Release() }()
				time.Sleep(4 * time.Second)
				lock, _, _ := sim.Keys("n")
				before, _ := s.Do("PTTL", lock).(int64)
				for range 2 {
					left, err := lease.CheckHeld(t.Context())
					if own := lease.Remaining(); err != nil || left <= 10*time.Second || left > own+time.Millisecond {
						t.Errorf("CheckHeld: %v, %v; want more than 10 s and at most %v", left, err, own)
					}
					if after, _ := s.Do("PTTL", lock).(int64); after > before {
						t.Errorf("the lock key lives for %d ms after CheckHeld; want no more than the %d ms before", after, before)
					}
				}
				s.on(func(step sim.Step, f *sim.Fate) {
					if step.Kind == "held" || step.Kind == "shared_held" {
						f.Refuse = "LOADING Redis is loading the dataset in memory"
					}
				})
				if _, err := lease.CheckHeld(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrLost) || lease.Err() != nil {
					t.Errorf("CheckHeld while Redis refuses: %v, and %v; want ErrUnreachable, and a lease", err, lease.Err())
				}
				s.on(func(sim.Step, *sim.Fate) {})
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := lease.CheckHeld(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("CheckHeld under a context that has ended: %v; want its error", err)
				}
				s.Do("FLUSHALL")
				var lost *holdfast.LostError
				if _, err := lease.CheckHeld(t.Context()); !errors.As(err, &lost) || lost.Cause != holdfast.Gone {
					t.Errorf("CheckHeld after the loss: %v; want ErrLost, gone", err)
				}
				if !errors.Is(lease.Err(), holdfast.ErrLost) {
					t.Errorf("Err after that: %v; want ErrLost", lease.Err())
				}
			})
		})
	}
}

// Somebody has cut the life of the key: CheckHeld says how long it is ours.
func TestCheckHeldOfACutTTL(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder, err := s.process("p0", 15*time.Second).Client.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lock, _, _ := sim.Keys("n")
		s.Do("PEXPIRE", lock, "2000")
		if left, err := holder.CheckHeld(t.Context()); err != nil || left > 2*time.Second || left < time.Second {
			t.Errorf("CheckHeld: %v, %v; want about 2 s", left, err)
		}
		s.Do("PERSIST", lock)
		if left, err := holder.CheckHeld(t.Context()); err != nil || left < 10*time.Second || left > holder.Remaining()+time.Millisecond {
			t.Errorf("CheckHeld of a key without expiry: %v, %v; want the lease's own", left, err)
		}
		_ = holder.Release()
	})
}

// What was ordered is heard by CheckHeld, too, where the push was not.
func TestCheckHeldFindsRevocations(t *testing.T) {
	for _, kind := range []string{"mutex", "permits", "reader"} {
		for _, cause := range []holdfast.Cause{holdfast.Revoked, holdfast.Stolen} {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
				s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "revoked" })
				lease, err := lockers[kind](p0.Client).Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				state, err := admin.Of(p1.Client).Inspect(t.Context(), "n")
				if err != nil {
					t.Fatal(err)
				}
				hash := ""
				if state.Holder != nil {
					hash = state.Holder.Hash
				} else {
					hash = state.Holders[0].Hash
				}
				if cause == holdfast.Revoked {
					_, err = admin.Of(p1.Client).Revoke(t.Context(), "n", hash, "why")
				} else {
					err = admin.Of(p1.Client).Steal(t.Context(), "n", hash, "why")
				}
				if err != nil {
					t.Fatal(err)
				}
				_, err = lease.CheckHeld(t.Context())
				s.lostBy("CheckHeld", err, cause, "why")
				_ = lease.Release()
			})
		}
	}
}

// EnsureHeld of several names prolongs each, and says which are lost.
func TestMultiEnsureHeld(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		lease, err := p0.Client.Multi("b", "a", "c").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		began := time.Now()
		if err := lease.EnsureHeld(t.Context()); err != nil || lease.Remaining() < 14*time.Second {
			t.Errorf("EnsureHeld: %v, and %v are left; want about a ttl", err, lease.Remaining())
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("EnsureHeld of three names took %v; want one round trip", took)
		}
		leases := lease.Leases()
		if len(leases) != 3 || leases[0].Name() != "a" || leases[1].Name() != "b" || leases[2].Name() != "c" {
			t.Errorf("Leases: %v; want those of a, b, c", leases)
		}
		leases[0] = nil // it is the caller's
		s.Evict("b")
		var lost *holdfast.LostError
		if err := lease.EnsureHeld(t.Context()); !errors.As(err, &lost) || lost.Name != "b" {
			t.Errorf("EnsureHeld after the loss of b: %v; want that", err)
		}
		if err := lease.Leases()[2].Err(); err != nil {
			t.Errorf("the lease of c: %v; want nil", err)
		}
		_ = lease.Release()
	})
}

// EnsureHeld: nil while it is held, and it prolongs; the loss that nobody has
// told of yet; an error of its own while Redis does not answer.
func TestEnsureHeld(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		time.Sleep(4 * time.Second)
		if err := holder.EnsureHeld(t.Context()); err != nil {
			t.Errorf("EnsureHeld of a held lease: %v", err)
		}
		if left := holder.Remaining(); left < 14*time.Second {
			t.Errorf("%v are left after EnsureHeld; want about a ttl", left)
		}
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" {
				f.Refuse = "LOADING Redis is loading the dataset in memory"
			}
		})
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld while Redis refuses: %v; want ErrUnreachable", err)
		}
		s.on(func(sim.Step, *sim.Fate) {})
		go p0.Silence(4 * time.Second)
		time.Sleep(time.Millisecond)
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld while Redis is silent: %v; want ErrUnreachable", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := holder.EnsureHeld(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("EnsureHeld under a context that ends: %v; want its error", err)
		}
		time.Sleep(5 * time.Second)
		s.Evict("n")
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld after the loss: %v; want ErrLost", err)
		}
		holder.stops()
		if err := s.lock(p0, "m").EnsureHeld(t.Context()); err != nil {
			t.Errorf("EnsureHeld: %v", err)
		}
	})
}

// EnsureHeld: an answer that comes when the lease is over is no proof.
func TestEnsureHeldAnsweredLate(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.lock(s.process("p0", time.Second), "n")
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseOut = step.Kind == "renew"
		})
		time.Sleep(960 * time.Millisecond)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" {
				f.Back = 45 * time.Millisecond
			}
		})
		if err := holder.EnsureHeld(t.Context()); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("EnsureHeld = %v; want ErrLost", err)
		}
		holder.stops()
	})
}
