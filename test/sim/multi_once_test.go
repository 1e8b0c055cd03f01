package sim_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Several names by one script: it takes all of them or none.

// steps are the requests of a process, "multi_lock" and so on. Read them under
// Atomically, or when nothing travels.
func (s stage) steps(process int, fate func(step sim.Step, f *sim.Fate)) *[]string {
	kinds := &[]string{}
	s.on(func(step sim.Step, f *sim.Fate) {
		if step.Process == process && !step.Push && step.Kind != "subscribe" {
			*kinds = append(*kinds, step.Kind)
		}
		if fate != nil {
			fate(step, f)
		}
	})
	return kinds
}

// tookSteps compares them with what a test wants.
func (s stage) tookSteps(kinds *[]string, want ...string) {
	s.t.Helper()
	s.Atomically(func() {
		if !slices.Equal(*kinds, want) {
			s.t.Errorf("requests: got %q, want %q", *kinds, want)
		}
		*kinds = nil
	})
}

// tookLocks is tookSteps without the renewals that follow when the store answers
// again, at once or a moment later.
func (s stage) tookLocks(kinds *[]string, want ...string) {
	s.t.Helper()
	s.Atomically(func() { *kinds = slices.DeleteFunc(*kinds, func(kind string) bool { return kind == "renew" }) })
	s.tookSteps(kinds, want...)
}

// heldAt wants a try to be told that a name is held.
func (s stage) heldAt(err error, name string) {
	s.t.Helper()
	if held, ok := errors.AsType[*holdfast.HeldError](err); !ok || held.Name != name {
		s.t.Errorf("TryLock: got %v, want that %s is held", err, name)
	}
}

// begins starts a Lock of several names, of which nil is an error.
func (s stage) begins(l *sim.Link, names ...string) <-chan *several {
	got := make(chan *several, 1)
	go func() {
		m, err := s.multi(l, 2*time.Minute, names...)
		if err != nil && !l.Dead() {
			s.Watch.Broken("%s locks %q: %v", l.Owner, names, err)
		}
		got <- m
	}()
	return got
}

// Names that are free cost one round trip, however many they are; two and a
// hundred.
func TestMultiIsOneRoundTrip(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		for _, n := range []int{2, 100} {
			steps := s.steps(0, nil)
			var names []string
			for i := range n {
				names = append(names, fmt.Sprint("n", i))
			}
			began := time.Now()
			m, err := s.multi(p0, time.Minute, names...)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != time.Millisecond {
				t.Errorf("%d names took %v, want one round trip of 1ms", n, took)
			}
			s.tookSteps(steps, "multi_lock")
			for _, name := range names {
				if !s.locked(name) || m.Token(name) <= 0 {
					t.Errorf("%s is not locked, or has no token", name)
				}
			}
			m.release()
			s.gone(time.Millisecond, names...)
		}
	})
}

// A try that finds one name held has written nothing about the others, asks
// nothing more, and leaves no line behind in its own process.
func TestMultiTryTakesNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "c")
		steps := s.steps(1, nil)
		_, err := p1.Client.Multi("a", "b", "c").TryLock(t.Context())
		s.heldAt(err, "c")
		var held *holdfast.HeldError
		if errors.As(err, &held) && (held.Owner != "p0" || held.Remaining <= 14*time.Second || held.Remaining > 15*time.Second) {
			t.Errorf("got %+v; want p0, for about 15s", held)
		}
		for _, name := range []string{"a", "b"} {
			if _, fence, _ := sim.Keys(name); s.Do("EXISTS", fence) != int64(0) {
				t.Errorf("F of %s was written", name)
			}
		}
		time.Sleep(time.Minute)
		s.tookSteps(steps, "multi_lock")
		a, err := p1.Client.Mutex("a").TryLock(t.Context()) // a local name left behind would say that it is in use
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Release(); err != nil {
			t.Error(err)
		}
		if err := p1.Client.Close(); err != nil {
			t.Error(err)
		}
		s.tookSteps(steps, "lock", "unlock") // nor had Close anything to end
		holder.release()
	})
}

// A try of names one of which is held does not disturb a try of the free ones,
// however often and however close together they come.
func TestMultiTriesDoNotDisturb(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.on(func(sim.Step, *sim.Fate) {})
		holder := s.lock(p0, "c")
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range 2000 {
				if _, err := p1.Client.Multi("b", "c").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
					t.Errorf("a try of a held name: got %v, want ErrHeld", err)
				}
				time.Sleep(100 * time.Microsecond)
			}
		}()
		for range 300 {
			m, err := p2.Client.Multi("a", "b").TryLock(t.Context())
			if err != nil {
				t.Fatalf("a try of free names: %v", err)
			}
			if err := m.Release(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(130 * time.Microsecond)
		}
		<-over
		holder.release()
	})
}

// What is in use in this process is told without asking.
func TestMultiInUseHere(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "b")
		steps := s.steps(0, nil)
		_, err := p0.Client.Multi("a", "b").TryLock(t.Context())
		s.heldAt(err, "b")
		s.tookSteps(steps)
		got := s.begins(p0, "a", "b")
		time.Sleep(time.Second)
		if len(got) > 0 {
			t.Fatal("Lock returned while b is held here")
		}
		s.Atomically(func() {
			if slices.Contains(*steps, "multi_lock") {
				t.Error("all are asked for at once while b is held here")
			}
		})
		holder.release()
		if m := <-got; m != nil {
			m.release()
		}
		time.Sleep(time.Second)
		s.gone(time.Millisecond, "a", "b")
	})
}

// A Lock that finds one name held waits in the queue for it, and a name that is free
// but waited for is not snatched from who waits.
func TestMultiDoesNotOvertake(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p1)
		holder := s.lock(p0, "b")
		next := s.waits(p1, "b")
		steps := s.steps(2, nil)
		s.Evict("b")
		_, err := p2.Client.Multi("a", "b").TryLock(t.Context())
		s.heldAt(err, "b")
		s.Atomically(func() {
			if got := *steps; len(got) < 3 || got[0] != "multi_lock" || got[1] != "lock" || got[2] != "lock" {
				t.Errorf("requests: got %q, want multi_lock, and then one after the other", got)
			}
		})
		got := s.begins(p2, "a", "b")
		first := s.soon("who waited", next, time.Second)
		time.Sleep(time.Second)
		if len(got) > 0 {
			t.Fatal("Lock returned while another holds b")
		}
		first.release()
		if m := <-got; m != nil {
			m.release()
		}
		s.Watch.Leaves(holder.held)
		_ = holder.Release()
	})
}

// Dead waiters stand before nobody: a free name with them in its queue is had, one
// after the other. If another name is held nothing is taken all the same.
func TestMultiBehindTheDead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		last := s.lock(p0, "c")
		_, _, queue := sim.Keys("b")
		s.Do("ZADD", queue, "1", "deadbeef.00.15000|dead")
		steps := s.steps(1, nil)
		_, err := p1.Client.Multi("a", "b", "c").TryLock(t.Context())
		s.heldAt(err, "c")
		s.tookSteps(steps, "multi_lock")
		last.release()
		m, err := p1.Client.Multi("a", "b", "c").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.tookSteps(steps, "multi_lock", "lock", "lock", "lock")
		if err := m.Release(); err != nil {
			t.Error(err)
		}
		s.gone(time.Second, "a", "b", "c")
	})
}

// In a Cluster names of several slots are locked one after the other.
func TestMultiInTwoSlots(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Shard()
		p0 := s.process("p0", 15*time.Second)
		steps := s.steps(0, nil)
		m, err := s.multi(p0, time.Minute, "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		s.tookSteps(steps, "lock", "lock")
		m.release()
	})
}

// A name that is something else, or a foreign client's, is told from the first
// answer, and nothing is taken.
func TestMultiOfOtherKinds(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		part, err := p0.Client.Semaphore("b", 3).TryAcquire(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		steps := s.steps(1, nil)
		_, err = p1.Client.Multi("a", "b").Lock(t.Context())
		if kind, ok := errors.AsType[*holdfast.KindError](err); !ok || kind.Name != "b" || kind.Actual != holdfast.KindSemaphore || kind.ActualSize != 3 {
			t.Errorf("Lock: got %v, want that b is a semaphore of 3", err)
		}
		if err := part.Release(); err != nil {
			t.Error(err)
		}
		lock, _, _ := sim.Keys("b")
		s.Do("SET", lock, "foreign", "NX", "PX", "5000")
		_, err = p1.Client.Multi("a", "b").TryLock(t.Context())
		s.heldAt(err, "b")
		if held, ok := errors.AsType[*holdfast.HeldError](err); ok && !held.Foreign {
			t.Errorf("got %+v, want it foreign", held)
		}
		s.tookLocks(steps, "multi_lock", "multi_lock")
		if m := <-s.begins(p1, "a", "b"); m != nil { // its turn comes when that expires
			m.release()
		}
		s.gone(time.Second, "a", "b")
	})
}
