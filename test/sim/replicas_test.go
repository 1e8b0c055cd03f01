package sim_test

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// copied is a process whose grants two replicas must have.
func (s stage) copied(owner string, ttl time.Duration) *sim.Link {
	return s.Process(owner, holdfast.Options{TTL: ttl, WaitReplicas: 2, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1)
}

// tooFew wants a call to be refused with these numbers.
func (s stage) tooFew(err error, want holdfast.ReplicasError) {
	s.t.Helper()
	got, ok := errors.AsType[*holdfast.ReplicasError](err)
	if !ok || !errors.Is(err, holdfast.ErrReplicas) || *got != want {
		s.t.Errorf("got %v, want %v", err, &want)
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

// Rule 10: a replica that answers again in time costs nothing.
func TestReplicaThaws(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		h := s.lock(s.copied("p0", 3*time.Second), "n")
		for range 3 {
			s.Freeze(0)
			s.lookFor("n", 2*time.Second)
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

// Rule 10: EnsureHeld and Extend are refused when too few replicas have the renewal. The deadline stays.
func TestProlongingIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		renewed, fixed := s.lock(p0, "a"), s.fixed(p0, "b", 15*time.Second)
		s.Freeze(0)
		time.Sleep(100 * time.Millisecond)
		before, ends := renewed.Remaining(), fixed.Remaining()
		s.tooFew(renewed.EnsureHeld(t.Context()), holdfast.ReplicasError{Name: "a", Want: 2, Got: 1, Connected: -1}) // nobody asked how many there are: the last WAIT was enough
		s.tooFew(fixed.Extend(t.Context(), 20*time.Second), holdfast.ReplicasError{Name: "b", Want: 2, Got: 1, Connected: 2})
		if renewed.Err() != nil || fixed.Err() != nil || renewed.Remaining() > before || fixed.Remaining() > ends {
			t.Errorf("%v and %v left, at most %v and %v before: %v, %v", renewed.Remaining(), fixed.Remaining(), before, ends, renewed.Err(), fixed.Err())
		}
		s.Thaw(0)
		if err := renewed.EnsureHeld(t.Context()); err != nil {
			t.Errorf("EnsureHeld when the replica is back: %v", err)
		}
		if err := fixed.Extend(t.Context(), 20*time.Second); err != nil || fixed.Remaining() < 19*time.Second {
			t.Errorf("Extend when the replica is back: %v, %v left", err, fixed.Remaining())
		}
		renewed.release()
		fixed.release()
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
		s.Atomically(func() { left = h.Remaining })
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
