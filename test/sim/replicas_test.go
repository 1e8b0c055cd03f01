package sim_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/sim"
)

// copied is a process whose grants two replicas must have.
func (s stage) copied(owner string, ttl time.Duration) *sim.Link {
	return s.Process(owner, holdfast.Options{TTL: ttl, WaitReplicas: 2, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1)
}

// tooFew wants Lock to be refused with these numbers.
func (s stage) tooFew(err error, want holdfast.ReplicasError) {
	s.t.Helper()
	got, ok := errors.AsType[*holdfast.ReplicasError](err)
	if !ok || !errors.Is(err, holdfast.ErrReplicas) || *got != want {
		s.t.Errorf("Lock: got %v, want %v", err, &want)
	}
}

// Rule 10: a grant that a failover would lose is not given to anybody; it is
// given back, and the error has the numbers.
func TestGrantIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		s.Freeze(1)
		for range 2 { // before and after it is known that they are too few
			_, err := p0.Client.Mutex("n").Lock(t.Context())
			s.tooFew(err, holdfast.ReplicasError{Name: "n", Want: 2, Got: 1, Connected: 2})
			time.Sleep(10 * time.Millisecond)
			s.nothingLeft("n")
		}
		s.Thaw(1)
		h := s.lock(p0, "n")
		if got := h.Replicas(); got != 2 {
			t.Errorf("Replicas: got %d, want 2", got)
		}
		h.release()
	})
}

// Rule 10: a pushed grant is confirmed, too.
func TestPushedGrantIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0, p1 := s.copied("p0", 15*time.Second), s.copied("p1", 15*time.Second)
		for frozen := range 2 {
			holder := s.lock(p0, "n")
			type outcome struct {
				lease *holdfast.Lease
				err   error
			}
			got := make(chan outcome, 1)
			go func() {
				lease, err := p1.Client.Mutex("n").Lock(context.Background())
				got <- outcome{lease, err}
			}()
			time.Sleep(50 * time.Millisecond)
			if frozen == 1 {
				s.Freeze(0)
			}
			holder.release()
			o := <-got
			if frozen == 1 {
				s.tooFew(o.err, holdfast.ReplicasError{Name: "n", Want: 2, Got: 1, Connected: -1})
			} else if o.err != nil || o.lease.Replicas() != 2 {
				t.Fatalf("Lock: got %v, %v; want a lease that 2 replicas have", o.lease, o.err)
			} else if err := o.lease.Release(); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Millisecond)
			s.nothingLeft("n")
		}
	})
}

// Rule 10: a renewal that too few replicas have does not count. It is sent again
// and never undone: the lease ends by its deadline, and the lock key is left alone.
func TestRenewalIsAcknowledged(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 3*time.Second)
		h := s.lock(p0, "n")
		deadline := h.Remaining()
		s.Freeze(0)
		time.Sleep(deadline - time.Millisecond)
		if err := h.Err(); err != nil {
			t.Errorf("before its deadline: %v", err)
		}
		s.Look("n")
		time.Sleep(2 * time.Millisecond)
		if err := h.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("after its deadline: got %v, want ErrLost", err)
		}
		if lock, _ := s.left("n"); !lock {
			t.Error("what the master renewed was undone")
		}
		s.Failover(0, 10*time.Millisecond) // what it believed must not outlive this
		s.Watch.Leaves(h.held)
		_ = h.Release()
	})
}

// Rule 10: a replica that answers again in time costs nothing.
func TestReplicaThaws(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		h := s.lock(s.copied("p0", 3*time.Second), "n")
		for range 3 {
			s.Freeze(0)
			for range 20 {
				time.Sleep(100 * time.Millisecond)
				s.Look("n")
			}
			if err := h.Err(); err != nil {
				t.Fatalf("while the replica is frozen: %v", err)
			}
			s.Thaw(0)
			time.Sleep(time.Second)
			if got := h.Remaining(); got < 1500*time.Millisecond {
				t.Errorf("%v left a second after the replica is back: %v", got, h.Err())
			}
		}
		h.release()
	})
}

// Rule 10: a failover to any of the replicas keeps the lock and its tokens' order.
func TestFailoverKeepsTheLock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0, p1 := s.copied("p0", 5*time.Second), s.copied("p1", 5*time.Second)
		h := s.lock(p0, "n")
		next := s.waits(p1, "n")
		for i := range 2 {
			s.Freeze(i) // it has what was acknowledged
			s.Failover(i, 500*time.Millisecond)
			s.lookFor("n", time.Second)
			if err := h.Err(); err != nil {
				t.Fatalf("after failover %d: %v", i, err)
			}
		}
		s.notBefore("the waiter", next, 10*time.Second)
		h.release()
		s.soon("the waiter", next, 6*time.Second).release()
	})
}

// Rule 10: the tokens of a grant that no replica has are not used: a failover
// may have given them to somebody else.
func TestTokensOfALostGrant(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseBack = step.Kind == "lock" && step.N == 0 })
		got := s.waits(p0, "n") // its grant is replicated, and not heard of
		s.Freeze(0)
		time.Sleep(3 * time.Second) // asked again and granted once more, which is not
		s.Failover(0, 10*time.Millisecond)
		s.soon("the caller", got, 5*time.Second).release()
	})
}

// Without replicas a lock fails at once, and says so.
func TestNoReplicas(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.copied("p0", 15*time.Second)
		began := time.Now()
		_, err := p0.Client.Mutex("n").Lock(t.Context())
		s.tooFew(err, holdfast.ReplicasError{Name: "n", Want: 2, Got: 0, Connected: 0})
		if want := "holdfast: 0 of 2 replicas acknowledged the lock of n: the server has no replica"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		time.Sleep(10 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// WAIT takes a third of the life that is left at most, and never for ever.
func TestWaitIsShort(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		waits := 0
		left := func() time.Duration { return 3 * time.Second }
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind != "renew" {
				return
			}
			waits++
			if life := left(); step.WAIT < time.Millisecond || step.WAIT > max(life/3, time.Millisecond) {
				t.Errorf("WAIT for %v with %v left", step.WAIT, life)
			}
		})
		h := s.lock(s.copied("p0", 3*time.Second), "n")
		s.Guard(func() { left = h.Remaining })
		s.Freeze(0)
		time.Sleep(3 * time.Second)
		s.Watch.Leaves(h.held)
		_ = h.Release()
		if waits < 5 {
			t.Errorf("only %d renewals", waits)
		}
	})
	play(t, func(t *testing.T, s stage) { // a grant that is nearly over
		s.Replicate(2)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Back = 95 * time.Millisecond
			}
			if step.Kind == "renew" && step.WAIT < time.Millisecond {
				t.Errorf("WAIT for %v", step.WAIT)
			}
		})
		h := s.lock(s.copied("p0", 100*time.Millisecond), "n")
		s.Watch.Leaves(h.held)
		_ = h.Release()
	})
}

// Turns within a confirmed tenure need no further WAIT.
func TestTurnsNeedNoWait(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		s.subscribe(p0)
		waits := 0
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.WAIT > 0 {
				waits++
			}
		})
		first := s.lock(p0, "n")
		second, third := s.waits(p0, "n"), s.waits(p0, "n")
		first.release()
		s.soon("the second turn", second, time.Second).release()
		s.soon("the third turn", third, time.Second).release()
		if waits != 1 {
			t.Errorf("got %d times WAIT, want 1", waits)
		}
	})
}

// A confirmation that is refused for good is told at once, one that is not
// answered after a while; the name is given back.
func TestGrantThatCanNotBeConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		for refusal, limit := range map[driver.ServerError]time.Duration{
			"NOPERM User app has no permissions to run the 'wait' command": 100 * time.Millisecond,
			"LOADING Redis is loading the dataset in memory":               16 * time.Second,
		} {
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "renew" {
					f.Refuse = refusal
				}
			})
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := p0.Client.Mutex("n").Lock(ctx)
			cancel()
			if got, ok := errors.AsType[driver.ServerError](err); !ok || got != refusal {
				t.Errorf("got %v, want %v", err, refusal)
			}
			if took := time.Since(began); took > limit {
				t.Errorf("%s: it took %v", refusal, took)
			}
			time.Sleep(time.Second)
			s.nothingLeft("n")
		}
	})
}

// A master that wakes up and finds itself replaced becomes a replica between a
// renewal and its WAIT: that passes.
func TestGrantConfirmedByAFormerMaster(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		refused := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && refused < 3 {
				refused++
				f.Refuse = "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0"
			}
		})
		s.lock(p0, "n").release()
		if refused != 3 {
			t.Errorf("refused %d times, want 3: nothing was proved", refused)
		}
	})
}

// A caller that gives up while a grant is being confirmed leaves nothing behind.
func TestGivenUpWhileConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		s.Freeze(0)
		s.giveUp(p0, "n", 100*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
	})
}
