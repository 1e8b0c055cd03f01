package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// One who asks again by its id, since an answer was lost, where the lock key was deleted
// alone: what it lives does not cut short what the others live.
func TestSharedAskedAgainWithoutL(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", time.Minute), s.process("p1", 300*time.Millisecond), s.process("p2", time.Second)
		long := s.take(p0, "n", read)
		lock, _, _ := sim.Keys("n")
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Process != 1 || step.Kind != "shared_lock":
			case step.N == 0: // its answer is lost
				f.LoseBack, f.Reset = true, true
			case step.N == 1:
				s.Do("DEL", lock)
			}
		})
		s.take(p1, "n", read)
		p1.Kill()
		time.Sleep(500 * time.Millisecond)
		h := s.Watch.CalledFor(p2, "n", write)
		if lease, err := p2.Client.RWMutex("n").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("a writer, while the reader of a minute has its lease (%v): got %v, want ErrHeld", long.Err(), err)
			if err == nil {
				s.Watch.Granted(h, lease)
				_ = lease.Release()
			}
		}
		s.Watch.Leaves(h)
		long.release()
	})
}

// What is left in the queue of a semaphore that nobody lives to use is nothing to a
// mutex.
func TestDeadWaiterOfASemaphore(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", time.Second), s.process("p1", time.Second), s.process("p2", time.Second)
		s.take(p0, "n", permits(1, 1))
		s.wants(p1, "n", permits(1, 1))
		p0.Kill()
		p1.Kill()
		time.Sleep(2 * time.Second)
		lease, err := p2.Client.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatalf("Lock: got %v, want the name: who waits for it is dead", err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

// A Mutex that is given up leaves nothing in the queue, also if other callers stand there.
func TestGivenUpBesideASemaphore(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		lock, _, queue := sim.Keys("n")
		s.Do("SET", lock, "foreign", "PX", "60000")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		go func() { _, _ = p1.Client.Mutex("n").Lock(ctx) }()
		time.Sleep(100 * time.Millisecond)
		go func() { _, _ = p0.Client.Semaphore("n", 2).Acquire(t.Context(), 1) }()
		time.Sleep(5 * time.Second)
		if got := s.Do("ZCARD", queue); got != int64(1) {
			t.Errorf("%v wait in the queue, want the semaphore's alone: %v", got, s.Do("ZRANGE", queue, "0", "-1"))
		}
		s.Do("DEL", lock)
		time.Sleep(2 * time.Second)
		if err := p0.Client.Close(); err != nil && !errors.Is(err, holdfast.ErrUnknown) {
			t.Error(err)
		}
	})
}

// A caller that shares a leader's lease and gives its share back does not resign: the term
// is announced on.
func TestSharedTermStaysKnown(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		a := s.leads(p0, "a")
		again := p0.Client.Mutex("n")
		again.Reentrant = true
		share, err := again.Lock(a.Context(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if err := share.Release(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		s.Do("DEL", "holdfast/term:{"+sim.Prefix+"n}") // as a failover may
		time.Sleep(6 * time.Minute)
		if leader, err := p0.Client.Election("n").Leader(t.Context()); err != nil || leader.Term != a.Token() {
			t.Errorf("Leader = %+v, %v; want term %d", leader, err, a.Token())
		}
		a.release()
	})
}

// A Mutex whose key was deleted and is another kind's now is lost with the next
// answered renewal, and its queue with it.
func TestKeyIsAnotherKindNow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		lock, _, _ := sim.Keys("n")
		h := s.lock(p0, "n")
		s.Watch.Leaves(h.held)
		s.Do("DEL", lock)
		lease, err := p1.Client.RWMutex("n").RLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := h.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("a third of its ttl later: got %v, want ErrLost", err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

// A caller that gives back what another kind of lock has by now has given it back: to ask again
// for it would be in vain, and so does a cool-down.
func TestReleaseOfAnotherKindNow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		for name, lock := range map[string]func() hold{
			"at once": func() hold { return s.lock(p0, "at once") },
			"cools":   func() hold { return s.keeps(p0, "cools", time.Second) },
		} {
			key, _, _ := sim.Keys(name)
			h := lock()
			s.Watch.Leaves(h.held)
			s.Do("DEL", key)
			lease, err := p1.Client.RWMutex(name).RLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Release(); err != nil {
				t.Errorf("%s: %v; want nil", name, err)
			}
			if err := lease.Err(); err != nil {
				t.Error(err)
			}
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A late renewal of what is over leaves alone what is none of ours.
func TestSharedLateRenewalOfAnotherProgramsHash(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		lock, _, _ := sim.Keys("n")
		h := s.take(p0, "n", read)
		s.Watch.Leaves(h.held)
		s.Do("DEL", lock, sim.KeyH("n"))
		s.Do("HSET", lock, "user", "data")
		time.Sleep(6 * time.Second)
		if n := s.Do("EXISTS", lock); n != int64(1) {
			t.Error("the hash of another program was deleted")
		}
	})
}

// A caller that shares a lease and asks for a MinHold gets its share when that is sure:
// its process may die in the next moment.
func TestSharedMinHoldCrash(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		s.on(func(sim.Step, *sim.Fate) {})
		h := s.lock(p0, "n")
		again := p0.Client.Mutex("n")
		again.Reentrant, again.MinHold = true, 10*time.Second
		if _, err := again.Lock(h.Context(t.Context())); err != nil {
			t.Fatal(err)
		}
		p0.Kill()
		next := s.waits(p1, "n")
		s.notBefore("the next", next, 9*time.Second)
		s.soon("the next", next, 2*time.Second).release()
	})
}

// A run whose lease was over before it could begin does not begin.
func TestOnceOverBeforeItBegan(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Kind == "once_begin":
				f.Back = 995 * time.Millisecond
			case step.Kind == "renew" && step.N > 0:
				f.LoseOut = true
			}
		})
		err := p0.Client.Once(t.Context(), "n", 10*time.Second, func(_ context.Context, lease *holdfast.Lease) error {
			t.Errorf("it runs, and its lease says %v", lease.Err())
			return nil
		})
		if !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		s.on(func(sim.Step, *sim.Fate) {})
		time.Sleep(100 * time.Millisecond)
		ran := false
		err = s.process("p1", time.Second).Client.Once(t.Context(), "n", 10*time.Second, func(context.Context, *holdfast.Lease) error {
			ran = true
			return nil
		})
		if !ran || err != nil {
			t.Errorf("another right after it: got %v, want a run: nobody has run it", err)
		}
	})
}

// A caller that shares a lease for longer, and gets an error, does not make the name cool down.
func TestSharedMinHoldGivenUp(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		s.on(func(sim.Step, *sim.Fate) {})
		h := s.lock(p0, "n")
		short := p0.Client.Mutex("n")
		short.Reentrant, short.MinHold = true, 200*time.Millisecond // within the ttl
		shared, err := short.Lock(h.Context(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "renew" })
		ctx, cancel := context.WithTimeout(h.Context(t.Context()), 50*time.Millisecond)
		defer cancel()
		long := p0.Client.Mutex("n")
		long.Reentrant, long.MinHold = true, time.Hour
		if _, err := long.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the error of ctx", err)
		}
		s.on(func(sim.Step, *sim.Fate) {})
		if err := shared.Release(); err != nil {
			t.Fatal(err)
		}
		h.release()
		next := s.waits(s.process("p1", time.Second), "n")
		s.notBefore("the next", next, 100*time.Millisecond) // the other's MinHold counts still
		s.soon("the next", next, time.Second).release()
		time.Sleep(2 * time.Second)
		s.nothingLeft("n")
	})
}

// A leader goes on to know when its lease ends, whatever its Client asks of the same
// name as another kind.
func TestLeaderBesideASemaphore(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		s.on(func(sim.Step, *sim.Fate) {})
		lease, err := p0.Client.Election("n").Campaign(t.Context(), "v")
		if err != nil {
			t.Fatal(err)
		}
		for range 200 { // whatever number the candidate has
			if _, err := p0.Client.Semaphore("n", 3).TryAcquire(t.Context(), 1); !errors.Is(err, holdfast.ErrKind) {
				t.Fatalf("a semaphore: got %v, want ErrKind", err)
			}
		}
		time.Sleep(3 * time.Second)
		if err := lease.Err(); err != nil {
			t.Errorf("after three ttl: got %v, want that it leads: it is renewed", err)
		}
		s.on(func(_ sim.Step, f *sim.Fate) { f.LoseOut = true })
		select {
		case <-lease.Done():
		case <-time.After(2 * time.Second):
			t.Error("nothing reaches Redis, and it is not told that its lease is over")
		}
	})
}
