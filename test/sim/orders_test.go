package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// hash names the tenure that holds a name, as people see it.
func (s stage) hash(l *sim.Link, name string) string {
	s.t.Helper()
	state, err := admin.Of(l.Client).Inspect(s.t.Context(), name)
	if err != nil || state.Holder == nil {
		s.t.Fatalf("Inspect: %+v, %v; want a holder", state, err)
	}
	return state.Holder.Hash
}

// revoke asks whoever holds the name to stop.
func (s stage) revoke(l *sim.Link, name, reason string) (heard int) {
	s.t.Helper()
	heard, err := admin.Of(l.Client).Revoke(s.t.Context(), name, s.hash(l, name), reason)
	if err != nil {
		s.t.Fatalf("Revoke: %v", err)
	}
	return heard
}

func (s stage) steal(l *sim.Link, name, reason string) {
	s.t.Helper()
	if err := admin.Of(l.Client).Steal(s.t.Context(), name, s.hash(l, name), reason); err != nil {
		s.t.Fatalf("Steal: %v", err)
	}
}

// over wants the lease to end within d, with this cause and reason.
func (h hold) over(d time.Duration, cause holdfast.Cause, reason string) {
	h.s.t.Helper()
	select {
	case <-h.Done():
	case <-time.After(d):
		h.s.t.Fatalf("the lease is not over after %v: %v\n%s", d, h.Err(), h.s.History(200))
	}
	var lost *holdfast.LostError
	if err := h.Err(); !errors.As(err, &lost) || lost.Cause != cause || lost.Reason != reason {
		h.s.t.Fatalf("Err = %v; want lost: %s: %s", err, cause, reason)
	}
}

// stops is the caller's part after a loss.
func (h hold) stops() {
	h.s.t.Helper()
	h.s.Watch.Leaves(h.held)
	if err := h.Release(); !errors.Is(err, holdfast.ErrLost) {
		h.s.t.Errorf("Release after a loss: %v; want ErrLost", err)
	}
}

const reason = "node is being drained"

// Revoke: the holder's context ends at once with the reason, nobody else gets the
// name before its Release, then the next does, and its own callers stand behind
// that.
func TestRevoke(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.lock(p0, "n")
		ctx := holder.Context(t.Context())
		other := s.waits(p1, "n")
		own := s.waits(p0, "n")
		if heard := s.revoke(op, "n", reason); heard != 1 {
			t.Errorf("%d heard it; want 1", heard)
		}
		holder.over(10*time.Millisecond, holdfast.Revoked, reason)
		if got, ok := holder.Revoked(); !ok || got != reason {
			t.Errorf("Revoked = %q, %v; want the reason", got, ok)
		}
		if err := context.Cause(ctx); !errors.Is(err, holdfast.ErrLost) || !strings.Contains(err.Error(), reason) {
			t.Errorf("the context ended with %v; want ErrLost and the reason", err)
		}
		s.notBefore("the next, before Release", other, 10*time.Second)
		holder.stops()
		next := s.soon("the next", other, 10*time.Millisecond)
		next.release()
		s.soon("the caller beside the revoked one", own, 100*time.Millisecond).release()
	})
}

// Revoke: a holder that can't be told, since the push is lost, or it has never
// subscribed, hears of it by its next renewal.
func TestRevokeUnnoticed(t *testing.T) {
	for _, lost := range []bool{true, false} {
		play(t, func(t *testing.T, s stage) {
			p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
			s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = lost && step.Kind == "revoked" })
			holder := s.lock(p0, "n")
			want := 0
			if lost {
				time.Sleep(2 * time.Second) // it subscribes
				want = 1
			}
			if heard := s.revoke(op, "n", reason); heard != want {
				t.Errorf("%d heard it; want %d", heard, want)
			}
			holder.over(5500*time.Millisecond, holdfast.Revoked, reason)
			holder.stops()
			time.Sleep(10 * time.Millisecond)
			s.nothingLeft("n")
		})
	}
}

// Revoke: work that is stopping has a whole ttl from when it is told, and no
// more: without Release the name goes to the next then.
func TestRevokeLeavesATTL(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second), s.process("op", time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		time.Sleep(1900 * time.Millisecond)
		s.revoke(op, "n", reason)
		holder.over(10*time.Millisecond, holdfast.Revoked, reason)
		s.Watch.Leaves(holder.held)
		s.notBefore("the next", next, 5900*time.Millisecond)
		s.soon("the next", next, 300*time.Millisecond).release()
		_ = holder.Release()
	})
}

// Revoke and Steal mean one tenure: what comes late or twice does not touch the
// next one, not even of the same process, and a hash that is not the holder's any more is an error.
func TestOrdersMeanOneTenure(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
		s.subscribe(p0)
		s.on(func(step sim.Step, f *sim.Fate) {
			f.Twice = step.Kind == "revoke" || step.Kind == "steal"
			if f.Twice || step.Kind == "revoked" {
				f.Again = 3 * time.Second
			}
		})
		first := s.lock(p0, "n")
		tenure := s.hash(op, "n")
		s.revoke(op, "n", reason)
		first.over(10*time.Millisecond, holdfast.Revoked, reason)
		first.stops()
		second := s.lock(p0, "n")
		var wrong *holdfast.TenureError
		if _, err := admin.Of(op.Client).Revoke(t.Context(), "n", tenure, reason); !errors.Is(err, holdfast.ErrTenure) || !errors.As(err, &wrong) || wrong.Owner != "p0" {
			t.Errorf("Revoke of the tenure before = %v; want a TenureError with the holder", err)
		}
		if err := admin.Of(op.Client).Steal(t.Context(), "n", tenure, reason); !errors.Is(err, holdfast.ErrTenure) {
			t.Errorf("Steal of the tenure before = %v; want ErrTenure", err)
		}
		time.Sleep(8 * time.Second) // renewals, and what is late
		if err := second.Err(); err != nil {
			t.Errorf("the next tenure of the process: %v; want it held", err)
		}
		s.steal(op, "n", "stuck")
		second.over(10*time.Millisecond, holdfast.Stolen, "stuck")
		second.stops()
		third := s.lock(p0, "n")
		time.Sleep(8 * time.Second)
		third.release()
		if _, err := admin.Of(op.Client).Revoke(t.Context(), "n", tenure, reason); !errors.As(err, &wrong) || !wrong.Free {
			t.Errorf("Revoke of a free name = %v; want a TenureError without a holder", err)
		}
	})
}

// The order is carried out after a look: if the holder is another one by then
// the script refuses.
func TestOrderAfterTheHolderChanged(t *testing.T) {
	for _, kind := range []string{"revoke", "steal"} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
			holder := s.lock(p0, "n")
			next := s.waits(p1, "n")
			tenure := s.hash(op, "n")
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == kind {
					f.Out = 200 * time.Millisecond
				}
			})
			time.AfterFunc(100*time.Millisecond, holder.release)
			var err error
			if kind == "revoke" {
				_, err = admin.Of(op.Client).Revoke(t.Context(), "n", tenure, reason)
			} else {
				err = admin.Of(op.Client).Steal(t.Context(), "n", tenure, reason)
			}
			var wrong *holdfast.TenureError
			if !errors.As(err, &wrong) || wrong.Owner != "p1" {
				t.Errorf("%s = %v; want a TenureError that names p1", kind, err)
			}
			got := s.soon("the next", next, time.Second)
			time.Sleep(6 * time.Second)
			got.release()
		})
	}
}

// Anybody may publish: a push alone ends nothing.
func TestFalseRevoke(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.subscribe(p0)
		holder := s.lock(p0, "n")
		lock, _, _ := sim.Keys("n")
		id := s.Do("GET", lock).(string)
		client, _, _ := strings.Cut(id, ".")
		if heard := s.Do("PUBLISH", "holdfast/push:"+client, "revoked "+id); heard != int64(1) {
			t.Fatalf("%v heard the false push; want 1", heard)
		}
		time.Sleep(time.Second)
		if err := holder.Err(); err != nil {
			t.Errorf("after a false push: %v; want it held", err)
		}
		holder.release()
	})
}

// Steal: the next waiter gets the name at once, and the one who had it knows as
// fast as a push and a renewal; its own callers stand behind.
func TestSteal(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.lock(p0, "n")
		other := s.waits(p1, "n")
		own := s.waits(p0, "n")
		s.steal(op, "n", reason)
		holder.over(10*time.Millisecond, holdfast.Stolen, reason)
		if got, ok := holder.Revoked(); !ok || got != reason {
			t.Errorf("Revoked = %q, %v; want the reason", got, ok)
		}
		next := s.soon("the next", other, 10*time.Millisecond)
		holder.stops()
		s.notBefore("the caller beside the stolen one", own, time.Second)
		next.release()
		s.soon("the caller beside the stolen one", own, 100*time.Millisecond).release()
	})
}

// Steal: a holder that can't be told learns of it, and why, by its next renewal.
func TestStealUnnoticed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.lock(p0, "n")
		s.steal(op, "n", reason)
		holder.over(5500*time.Millisecond, holdfast.Stolen, reason)
		holder.stops()
	})
}

// Steal from a frozen holder: the next is granted at once, and whoever wakes up
// after its deadline knows at the first look.
func TestStealFromTheFrozen(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second), s.process("op", 6*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		go p0.Silence(20 * time.Second)
		time.Sleep(time.Millisecond)
		s.steal(op, "n", reason)
		got := s.soon("the next", next, 10*time.Millisecond)
		time.Sleep(6 * time.Second)
		if err := holder.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Err after the deadline = %v; want ErrLost", err)
		}
		holder.stops()
		time.Sleep(16 * time.Second)
		if err := got.Err(); err != nil {
			t.Errorf("who got the name: %v; want it held, whatever the frozen one does when it is back", err)
		}
		got.release()
	})
}

// Steal, whose answer is lost: it is sent again, and that it was carried out is
// known; the next holder is left alone.
func TestStealAnsweredLate(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseBack = step.Kind == "steal" && step.N == 0 })
		s.steal(op, "n", reason)
		got := s.soon("the next", next, 10*time.Millisecond)
		holder.stops()
		time.Sleep(6 * time.Second)
		got.release()
	})
}

// A name is handed over past many dead waiters, by several runs of the script.
func TestStealPastTheDead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		_, _, queue := sim.Keys("n")
		for i := range 600 {
			s.Do("ZADD", queue, itoa(int64(i)), "dead.n"+itoa(int64(i))+".15000|dead")
		}
		s.steal(op, "n", reason)
		s.soon("the next", next, 10*time.Millisecond).release()
		holder.over(5500*time.Millisecond, holdfast.Stolen, reason)
		holder.stops()
	})
}

// Orders are given again while the server's state keeps it from obeying, as
// while a slot moves.
func TestOrdersAreRepeated(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
		s.subscribe(p0)
		s.on(func(step sim.Step, f *sim.Fate) {
			if (step.Kind == "revoke" || step.Kind == "steal" || step.Kind == "inspect") && step.N%3 != 2 {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		holder := s.lock(p0, "n")
		tenure := ""
		for tenure == "" {
			if state, err := admin.Of(op.Client).Inspect(t.Context(), "n"); err == nil {
				tenure = state.Holder.Hash
			}
		}
		if _, err := admin.Of(op.Client).Revoke(t.Context(), "n", tenure, reason); err != nil {
			t.Errorf("Revoke: %v", err)
		}
		holder.over(10*time.Millisecond, holdfast.Revoked, reason)
		if err := admin.Of(op.Client).Steal(t.Context(), "n", tenure, reason); err != nil {
			t.Errorf("Steal: %v", err)
		}
		s.nothingLeft("n")
		holder.stops()
	})
}

// ownOrders are holds that can be ended, each with what the same Client asks for next. A
// mutex and an election have one holder, which Inspect names in another place.
var ownOrders = map[string]struct {
	lock, next func(c *holdfast.Client) (*holdfast.Lease, error)
}{
	"mutex": {
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").Lock(context.Background()) },
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").TryLock(context.Background()) },
	},
	"permits": {
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("n", 2).Acquire(context.Background(), 2)
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("n", 2).TryAcquire(context.Background(), 2)
		},
	},
	"reader": {
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").RLock(context.Background()) },
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").TryLock(context.Background()) },
	},
	"writer": {
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").Lock(context.Background()) },
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.RWMutex("n").TryRLock(context.Background())
		},
	},
	"leader": {
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Election("n").Campaign(context.Background(), "a")
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").TryLock(context.Background()) },
	},
}

// A Client ends its own hold, and nobody else can tell it, since it has no subscription:
// the Admin of the Client lets it ask, so the lease is over when the order returns, and the
// name is free for its next try.
func TestOrdersOfItsOwn(t *testing.T) {
	for name, c := range ownOrders {
		for _, steal := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "/steal", false: "/revoke"}[steal], func(t *testing.T) {
				play(t, func(t *testing.T, s stage) {
					client := s.process("p0", 15*time.Second).Client
					lease, err := c.lock(client)
					if err != nil {
						t.Fatal(err)
					}
					state, err := admin.Of(client).Inspect(t.Context(), "n")
					if err != nil || state.Holder == nil {
						t.Fatalf("Inspect: %+v, %v", state, err)
					}
					want := holdfast.Revoked
					if steal {
						want = holdfast.Stolen
						err = admin.Of(client).Steal(t.Context(), "n", state.Holder.Hash, reason)
					} else {
						_, err = admin.Of(client).Revoke(t.Context(), "n", state.Holder.Hash, reason)
					}
					if err != nil {
						t.Fatal(err)
					}
					var lost *holdfast.LostError
					if err := lease.Err(); !errors.As(err, &lost) || lost.Cause != want || lost.Reason != reason {
						t.Errorf("Err is %v when the order returns; want lost: %s: %s", err, want, reason)
					}
					if !steal { // else nobody waits for it
						_ = lease.Release()
					}
					next, err := c.next(client)
					if err != nil {
						t.Fatalf("the next try: %v", err)
					}
					if next.Token() <= lease.Token() {
						t.Errorf("token %d after %d", next.Token(), lease.Token())
					}
					if err := errors.Join(next.Release(), lease.Release()); !errors.Is(err, holdfast.ErrLost) || errors.Is(err, holdfast.ErrUnknown) {
						t.Errorf("Release: %v; want ErrLost", err)
					}
					time.Sleep(100 * time.Millisecond)
					s.none("n")
				})
			})
		}
	}
}
