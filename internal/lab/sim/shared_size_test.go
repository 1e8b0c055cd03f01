package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

// More permits than there are, and none, are refused at once.
func TestSharedTooMany(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.on(func(step sim.Step, _ *sim.Fate) { t.Errorf("%s is sent", step.Kind) })
		for _, n := range []int{5, 0, -1} {
			if _, err := p0.Client.Semaphore("n", 4).Acquire(t.Context(), n); !errors.Is(err, holdfast.ErrSize) {
				t.Errorf("Acquire of %d of 4: got %v, want ErrSize", n, err)
			}
		}
	})
}

// The size is changed for who holds and waits; who comes with the old one is told
// both, and so is a waiter for whom it became too small.
func TestSharedResize(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		sem := p0.Client.Semaphore("n", 2)
		first := s.take(p0, "n", permits(2, 2))
		next := s.wants(p1, "n", permits(1, 2))
		s.Watch.CalledFor(p0, "n", permits(1, 3)) // from now on 3 may be held
		if err := sem.Resize(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		second := s.soon("the waiter, when there is more", next, 50*time.Millisecond)
		if got := sem.Size(); got != 3 {
			t.Errorf("Size: got %d, want 3", got)
		}
		kind(t, "holdfast: n is a semaphore of 3, not a semaphore of 2", func() error {
			_, err := p2.Client.Semaphore("n", 2).TryAcquire(t.Context(), 1)
			return err
		})

		refused := make(chan error, 1)
		go func() {
			_, err := p2.Client.Semaphore("n", 3).Acquire(t.Context(), 3)
			refused <- err
		}()
		time.Sleep(50 * time.Millisecond)
		small := s.wants(p1, "n", permits(1, 3))
		if err := sem.Resize(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		kind(t, "holdfast: n is a semaphore of 1, not a semaphore of 3", func() error {
			select {
			case err := <-refused:
				return err
			case <-time.After(100 * time.Millisecond):
				return errors.New("nothing")
			}
		})
		first.release()
		s.notBefore("one more than there are now", small, time.Second)
		second.release()
		s.soon("the last", small, 50*time.Millisecond).release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

func kind(t *testing.T, want string, f func() error) {
	t.Helper()
	if err := f(); !errors.Is(err, holdfast.ErrKind) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Resize of a name that nobody holds, or of another kind.
func TestSharedResizeOfNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		if err := p0.Client.Semaphore("n", 2).Resize(t.Context(), 5); err != nil {
			t.Errorf("Resize where nobody holds: %v", err)
		}
		s.none("n")
		h := s.take(p0, "n", read)
		kind(t, "holdfast: n is an RWMutex, not a semaphore of 5", func() error {
			return p0.Client.Semaphore("n", 2).Resize(t.Context(), 5)
		})
		h.release()
	})
}

// A foreign client is excluded, and excludes: who waits polls.
func TestSharedForeignHolder(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		lock, _, _ := sim.Keys("n")
		first := s.take(p0, "n", read)
		if got := s.Do("SET", lock, "foreign", "NX", "PX", "9000"); got != nil {
			t.Errorf("SET NX of a held name: got %v, want nil", got)
		}
		first.release()
		s.Do("SET", lock, "foreign", "NX", "PX", "60000")
		_, err := p0.Client.RWMutex("n").TryRLock(t.Context())
		if held, ok := errors.AsType[*holdfast.HeldError](err); !ok || !held.Foreign || held.Remaining <= 0 {
			t.Errorf("TryRLock: got %v, want a foreign holder", err)
		}
		next := s.wants(p1, "n", write)
		s.notBefore("the writer", next, 3*time.Second)
		s.Do("DEL", lock)
		s.soon("the writer", next, 700*time.Millisecond).release()
	})
}

// A foreign client that takes L while somebody holds, which it can only if L was
// deleted, has it: the holder's next renewal says so.
func TestSharedTakenByAForeigner(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		lock, _, _ := sim.Keys("n")
		h := s.take(p0, "n", read)
		s.Watch.Leaves(h.held)
		s.Do("DEL", lock)
		s.Do("SET", lock, "foreign", "NX", "PX", "60000")
		time.Sleep(500 * time.Millisecond)
		lost, ok := errors.AsType[*holdfast.LostError](h.Err())
		if !ok || lost.Cause != holdfast.Taken {
			t.Errorf("got %v, want lost: taken", h.Err())
		}
	})
}

// L alone that is deleted costs nobody anything: H says who holds.
func TestSharedLAloneIsDeleted(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		lock, _, _ := sim.Keys("n")
		h := s.take(p0, "n", permits(1, 1))
		s.Do("DEL", lock)
		next := s.wants(p1, "n", permits(1, 1))
		s.notBefore("the next", next, 3*time.Second)
		h.release()
		s.soon("the next", next, 100*time.Millisecond).release()
		s.none("n")
	})
}

// Waiters of another kind, which stand in a line whose holder is gone, are an
// error that names both while they live, and no matter when they are dead.
func TestSharedWaitersOfAnotherKind(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		lock, _, queue := sim.Keys("n")
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.lock(p0, "n")
		go func() { _, _ = p1.Client.Mutex("n").Lock(t.Context()) }()
		time.Sleep(50 * time.Millisecond)
		p0.Kill()
		s.Do("DEL", lock)
		kind(t, "holdfast: n is a mutex, not an RWMutex", func() error {
			_, err := p2.Client.RWMutex("n").RLock(t.Context())
			return err
		})
		p1.Kill()
		s.take(p2, "n", read).release()
		if n := s.Do("ZCARD", queue); n != int64(0) {
			t.Errorf("%v waiters are left", n)
		}
	})
}

// Five hundred dead waiters and more are passed over in a few calls.
func TestSharedManyDead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		_, _, queue := sim.Keys("n")
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		h := s.take(p0, "n", write)
		next := s.wants(p1, "n", read)
		for i := range 1300 { // in front of it
			s.Do("ZADD", queue, fmt.Sprint(1000+i), fmt.Sprintf("dead%d.n.15000.r1|x", i))
		}
		h.release()
		s.soon("the living one", next, 100*time.Millisecond).release()
		s.none("n")
	})
}

// With WaitReplicas a part is given when the replicas have it.
func TestSharedGrantIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		s.Freeze(1)
		_, err := p0.Client.RWMutex("n").RLock(t.Context())
		s.tooFew(err, holdfast.ReplicasError{Name: "n", Want: 2, Got: 1, Connected: 2})
		s.Thaw(1)
		h := s.take(p0, "n", read)
		if got := h.Replicas(); got != 2 {
			t.Errorf("Replicas: got %d, want 2", got)
		}
		h.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// Under a lease of the name its context locks nothing of it, and never makes a
// reader a writer.
func TestSharedDeadlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		h := s.take(p0, "n", read)
		ctx := h.Context(t.Context())
		reentrant := p0.Client.Mutex("n")
		reentrant.Reentrant = true
		for what, f := range map[string]func() error{
			"Lock":    func() error { _, err := p0.Client.RWMutex("n").Lock(ctx); return err },
			"RLock":   func() error { _, err := p0.Client.RWMutex("n").RLock(ctx); return err },
			"Acquire": func() error { _, err := p0.Client.Semaphore("n", 2).Acquire(ctx, 1); return err },
			"Mutex":   func() error { _, err := reentrant.Lock(ctx); return err },
		} {
			if err := f(); !errors.Is(err, holdfast.ErrDeadlock) {
				t.Errorf("%s: got %v, want ErrDeadlock", what, err)
			}
		}
		ctx = context.WithoutCancel(ctx)
		h.release()
		if _, err := reentrant.Lock(ctx); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("after the release: got %v, want ErrReleased, as of a Mutex", err)
		}
	})
}
