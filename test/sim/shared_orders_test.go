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

// hashOf names the tenure of one who holds a part.
func (s stage) hashOf(l *sim.Link, name, owner string) string {
	s.t.Helper()
	state, err := admin.Of(l.Client).Inspect(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range state.Holders {
		if h.Owner == owner {
			return h.Hash
		}
	}
	s.t.Fatalf("%s does not hold %s: %+v", owner, name, state.Holders)
	return ""
}

// sharedOrders are the parts that can be ended, with one that waits for it.
var sharedOrders = map[string]struct{ held, wanted sim.Part }{
	"permits": {permits(3, 4), permits(3, 4)},
	"permit":  {permits(1, 1), permits(1, 1)},
	"reader":  {read, write},
	"writer":  {write, read},
}

// One holder is asked to stop, and hears of it within a round trip. Its part is nobody
// else's before its Release; then those who wait go on at once, and the others who hold
// know nothing of it.
func TestSharedRevoke(t *testing.T) {
	for name, c := range sharedOrders {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1, p2, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second), s.process("op", 15*time.Second)
				s.subscribe(p0, p1, p2)
				holder := s.take(p0, "n", c.held)
				next := s.wants(p1, "n", c.wanted)
				s.notBefore("the next", next, 100*time.Millisecond)
				heard, err := admin.Of(op.Client).Revoke(t.Context(), "n", s.hashOf(op, "n", "p0"), reason)
				if err != nil || heard != 1 {
					t.Fatalf("Revoke: %d, %v; want 1, nil", heard, err)
				}
				holder.over(10*time.Millisecond, holdfast.Revoked, reason)
				s.notBefore("the next", next, 5*time.Second)
				holder.stops()
				h := s.soon("the next", next, 50*time.Millisecond)
				if h.Token() <= holder.Token() {
					t.Errorf("token %d after %d", h.Token(), holder.Token())
				}
				h.release()
				time.Sleep(time.Second)
				s.none("n")
			})
		})
	}
}

// One holder is stolen from: those who wait go on at once, and it hears of it within a
// round trip, by its next renewal if the push is lost.
func TestSharedSteal(t *testing.T) {
	for name, c := range sharedOrders {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
				s.subscribe(p0, p1)
				holder := s.take(p0, "n", c.held)
				next := s.wants(p1, "n", c.wanted)
				s.notBefore("the next", next, 100*time.Millisecond)
				s.Watch.Leaves(holder.held) // two believe, until it hears of it
				if err := admin.Of(op.Client).Steal(t.Context(), "n", s.hashOf(op, "n", "p0"), reason); err != nil {
					t.Fatal(err)
				}
				h := s.soon("the next", next, 10*time.Millisecond)
				holder.over(10*time.Millisecond, holdfast.Stolen, reason)
				holder.stops()
				h.release()
				time.Sleep(time.Second)
				s.none("n")
			})
		})
	}
}

// Each of several holders can be meant, by itself, while the others hold on. One who
// does not listen hears of its own order by its next renewal.
func TestSharedOrdersMeanOne(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		op := s.process("op", 3*time.Second)
		var all []hold
		for _, owner := range []string{"a", "b", "c", "d"} {
			p := s.process(owner, 3*time.Second)
			all = append(all, s.take(p, "n", read))
		}
		began := time.Now()
		for _, owner := range []string{"a", "b"} { // nobody has subscribed: both orders stand until they are asked for
			if heard, err := admin.Of(op.Client).Revoke(t.Context(), "n", s.hashOf(op, "n", owner), "reason "+owner); err != nil || heard != 0 {
				t.Fatalf("Revoke of %s: %d, %v", owner, heard, err)
			}
		}
		s.Watch.Leaves(all[2].held)
		if err := admin.Of(op.Client).Steal(t.Context(), "n", s.hashOf(op, "n", "c"), "reason c"); err != nil {
			t.Fatal(err)
		}
		within := func() time.Duration { return time.Until(began.Add(time.Second + 50*time.Millisecond)) } // a third of the ttl
		all[0].over(within(), holdfast.Revoked, "reason a")
		all[1].over(within(), holdfast.Revoked, "reason b")
		all[2].over(within(), holdfast.Stolen, "reason c")
		time.Sleep(5 * time.Second)
		if err := all[3].Err(); err != nil {
			t.Errorf("who was not meant: %v", err)
		}
		for _, h := range all[:3] {
			h.stops()
		}
		all[3].release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// The holder gives its part back while the order is under way: nothing was done, and
// that is said.
func TestSharedOrderOvertaken(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
		s.on(func(step sim.Step, fate *sim.Fate) {
			if step.Kind == "shared_revoke" || step.Kind == "shared_steal" {
				fate.Out = 300 * time.Millisecond
			}
		})
		for what, order := range map[string]func(hash string) error{
			"Revoke": func(hash string) error {
				_, err := admin.Of(op.Client).Revoke(t.Context(), "n", hash, reason)
				return err
			},
			"Steal": func(hash string) error { return admin.Of(op.Client).Steal(t.Context(), "n", hash, reason) },
		} {
			other := s.take(p0, "n", read)
			holder := s.take(op, "n", read)
			hash := s.hashOf(op, "n", "op")
			done := make(chan error, 1)
			go func() { done <- order(hash) }()
			time.Sleep(100 * time.Millisecond)
			holder.release()
			if err := <-done; !errors.Is(err, holdfast.ErrTenure) {
				t.Errorf("%s: got %v, want ErrTenure", what, err)
			}
			other.release()
		}
	})
}

// The answer of a steal is lost, and it is sent again: it was done once, and who ordered
// is told that it was done.
func TestSharedStealAnsweredLate(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		s.subscribe(p0, p1)
		holder := s.take(p0, "n", write)
		next := s.wants(p1, "n", write)
		time.Sleep(100 * time.Millisecond)
		lost := 0
		s.on(func(step sim.Step, fate *sim.Fate) {
			if step.Kind == "shared_steal" && lost == 0 {
				lost++
				fate.LoseBack = true
			}
		})
		s.Watch.Leaves(holder.held)
		if err := admin.Of(op.Client).Steal(t.Context(), "n", s.hashOf(op, "n", "p0"), reason); err != nil {
			t.Errorf("Steal: %v", err)
		}
		if lost != 1 {
			t.Errorf("%d answers were lost", lost)
		}
		h := s.soon("the next", next, 10*time.Millisecond)
		if err := h.Err(); err != nil {
			t.Errorf("the next: %v", err)
		}
		holder.over(10*time.Millisecond, holdfast.Stolen, reason)
		holder.stops()
		h.release()
	})
}

// MaxHold ends leases of all kinds: at that moment, with its cause, and without renewals
// from then on. Others get the name when it is given back.
func TestSharedMaxHold(t *testing.T) {
	const most = 2 * time.Second
	for name, lock := range map[string]func(*holdfast.Client) (*holdfast.Lease, error){
		"semaphore": func(c *holdfast.Client) (*holdfast.Lease, error) {
			sem := c.Semaphore("n", 2)
			sem.MaxHold = most
			return sem.Acquire(context.Background(), 2)
		},
		"writer": func(c *holdfast.Client) (*holdfast.Lease, error) {
			m := c.RWMutex("n")
			m.MaxHold = most
			return m.Lock(context.Background())
		},
		"reader": func(c *holdfast.Client) (*holdfast.Lease, error) {
			m := c.RWMutex("n")
			m.MaxHold = most
			return m.RLock(context.Background())
		},
		"election": func(c *holdfast.Client) (*holdfast.Lease, error) {
			e := c.Election("n")
			e.MaxHold = most
			return e.Campaign(context.Background(), "v")
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				lease, err := lock(p0.Client)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				<-lease.Done()
				var lost *holdfast.LostError
				if held := time.Since(began); !errors.As(lease.Err(), &lost) || lost.Cause != holdfast.MaxHold || held < most-5*time.Millisecond || held > most+5*time.Millisecond {
					t.Errorf("after %v: %v; want lost: max hold after %v", held, lease.Err(), most)
				}
				if err := lease.Release(); !errors.Is(err, holdfast.ErrLost) {
					t.Errorf("Release: %v, want ErrLost", err)
				}
				time.Sleep(time.Second)
				s.none("n")
			})
		})
	}
}

// A try under a lease of the same name waits for nobody: it gets what is free, else it
// is told that it is held.
func TestSharedTryUnderALease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		sem, rw := p0.Client.Semaphore("s", 3), p0.Client.RWMutex("rw")
		err := holdfast.Do(t.Context(), sem.Permits(2), func(ctx context.Context, _ *holdfast.Lease) error {
			if _, err := sem.TryAcquire(ctx, 2); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("2 more of 3: got %v, want ErrHeld", err)
			}
			more, err := sem.TryAcquire(ctx, 1)
			if err != nil {
				return err
			}
			return more.Release()
		})
		if err != nil {
			t.Error(err)
		}
		err = holdfast.Do(t.Context(), rw.RLocker(), func(ctx context.Context, _ *holdfast.Lease) error {
			if _, err := rw.TryLock(ctx); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("TryLock under a reader: got %v, want ErrHeld", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
