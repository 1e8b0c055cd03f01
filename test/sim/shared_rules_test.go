package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// The rules of the shared kinds; see docs/protocol.md.

var (
	read  = sim.Part{}
	write = sim.Part{Write: true}
)

func permits(n, size int) sim.Part { return sim.Part{N: n, Size: size} }

// take gets a part, within a simulated minute.
func (s stage) take(l *sim.Link, name string, p sim.Part) hold {
	s.t.Helper()
	return s.soon(l.Owner+" takes "+name, s.wants(l, name, p), time.Minute)
}

// wants starts a call that waits for a part; what it gets comes by the channel.
func (s stage) wants(l *sim.Link, name string, p sim.Part) <-chan hold {
	got := make(chan hold, 1)
	h := s.Watch.CalledFor(l, name, p)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		lease, err := p.Lock(ctx, l, name, false)
		if err != nil {
			if !l.Dead() {
				s.Watch.Broken("%s waits for %s: %v", l.Owner, name, err)
			}
			close(got)
			return
		}
		s.Watch.Granted(h, lease)
		got <- hold{lease, h, s}
	}()
	time.Sleep(20 * time.Millisecond)
	return got
}

// none makes sure that nothing of a name is left but its tokens.
func (s stage) none(name string) {
	s.t.Helper()
	lock, _, queue := sim.Keys(name)
	if n := s.Do("EXISTS", lock, queue, sim.KeyH(name)); n != int64(0) {
		s.t.Errorf("%s: %v of lock key, queue and holders key are there, want none: %v", name, n, s.Do("KEYS", "*"))
	}
}

// A big request at the head is not overtaken by a small one that would fit.
func TestSharedHeadIsNotOvertaken(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		first := s.take(p0, "n", permits(3, 4))
		big := s.wants(p1, "n", permits(4, 4))
		small := s.wants(p2, "n", permits(1, 4))
		s.notBefore("the small one", small, 20*time.Second)
		first.release()
		got := s.soon("the big one", big, 50*time.Millisecond)
		s.notBefore("the small one", small, time.Second)
		got.release()
		s.soon("the small one", small, 50*time.Millisecond).release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// Nor is it by one that only tries, nor by one who waits already and whose place
// was made again.
func TestSharedTryDoesNotOvertake(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		first := s.take(p0, "n", read)
		next := s.wants(p1, "n", write)
		if _, err := p2.Client.RWMutex("n").TryRLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("TryRLock behind a writer: got %v, want ErrHeld", err)
		}
		last := s.wants(p2, "n", read)
		p1.Cut() // it loses its place and comes back to it
		time.Sleep(time.Second)
		first.release()
		w := s.soon("the writer", next, 100*time.Millisecond)
		s.notBefore("the reader", last, time.Second)
		w.release()
		s.soon("the reader", last, 100*time.Millisecond).release()
	})
}

// All that fit are granted by one release, however many they are.
func TestSharedAllThatFit(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		w := s.take(p0, "n", write)
		const n = 250
		var readers [n]<-chan hold
		for i := range readers {
			readers[i] = s.wants(p1, "n", read)
		}
		w.release()
		end := time.Now().Add(100 * time.Millisecond)
		var held [n]hold
		for i := range readers {
			held[i] = s.soon(fmt.Sprintf("reader %d", i), readers[i], time.Until(end))
		}
		for _, h := range held {
			h.release()
		}
		time.Sleep(time.Second)
		s.none("n")
	})
}

// Who only tries gets them then, too, though others keep their own.
func TestSharedTryAfterACrash(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const ttl = 3 * time.Second
		p0, p1, p2 := s.process("p0", ttl), s.process("p1", ttl), s.process("p2", ttl)
		s.take(p0, "n", permits(2, 4))
		living := s.take(p1, "n", permits(2, 4))
		p0.Kill()
		try := func() error {
			lease, err := p2.Client.Semaphore("n", 4).TryAcquire(t.Context(), 2)
			if err == nil {
				err = lease.Release()
			}
			return err
		}
		time.Sleep(ttl - 100*time.Millisecond)
		if err := try(); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("before its ttl has ended: got %v, want ErrHeld", err)
		}
		time.Sleep(100 * time.Millisecond)
		if err := try(); err != nil {
			t.Errorf("when its ttl has ended: %v", err)
		}
		living.release()
	})
}

// Each holder has its own time: what one renews does not keep another's.
func TestSharedOwnExpiry(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", time.Second), s.process("p1", time.Second), s.process("p2", time.Second)
		silent, renewed := s.take(p0, "n", read), s.take(p1, "n", read)
		next := s.wants(p2, "n", write)
		p0.Silence(3 * time.Second)
		if err := silent.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("the silent reader: got %v, want ErrLost", err)
		}
		s.Watch.Leaves(silent.held)
		if err := silent.Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release: got %v, want ErrLost", err)
		}
		if err := renewed.Err(); err != nil {
			t.Errorf("the other reader: %v", err)
		}
		s.notBefore("the writer", next, time.Second)
		renewed.release()
		s.soon("the writer", next, 100*time.Millisecond).release()
	})
}

// A writer that dies while it waits at the head keeps readers out no longer than
// until somebody looks, and one that is frozen for a claim window.
func TestSharedDeadWriterAtTheHead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		first := s.take(p0, "n", read)
		s.wants(p1, "n", write)
		p1.Kill()
		second := s.soon("the reader", s.wants(p2, "n", read), 100*time.Millisecond)
		second.release()
		first.release()
	})
}

// A frozen writer at the head goes to the tail after one window. It is not
// forgotten: when it lives again it gets its turn.
func TestSharedFrozenWriterAtTheHead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		first := s.take(p0, "n", read)
		frozen := s.wants(p1, "n", write)
		time.Sleep(3 * time.Second)
		go p1.Silence(10 * time.Second)
		next := s.wants(p2, "n", read)
		second := s.soon("the reader", next, 2200*time.Millisecond)
		s.notBefore("the frozen writer", frozen, 12*time.Second)
		second.release()
		first.release()
		s.soon("the writer, thawed", frozen, 20*time.Second).release()
	})
}

// A writer at the head that lives stays there, however long it takes: it shows
// itself to those behind it.
func TestSharedLivingHeadStays(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		first := s.take(p0, "n", read)
		w, r := s.wants(p1, "n", write), s.wants(p2, "n", read)
		s.notBefore("the reader", r, 30*time.Second)
		first.release()
		s.soon("the writer", w, 100*time.Millisecond).release()
		s.soon("the reader", r, 100*time.Millisecond).release()
	})
}

// A process that was granted its part by a push and does not claim it has it for
// one claim window.
func TestSharedClaimWindow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		first := s.take(p0, "n", write)
		frozen := s.wants(p1, "n", write)
		next := s.wants(p2, "n", read)
		go p1.Silence(8 * time.Second)
		time.Sleep(10 * time.Millisecond)
		first.release()
		s.notBefore("the reader", next, 1900*time.Millisecond)
		s.soon("the reader", next, 200*time.Millisecond).release()
		s.soon("the frozen writer", frozen, time.Minute).release()
	})
}

// While a slot moves, renew and unlock fall back to the holders key alone; the queue is handed over when
// all can be reached again.
func TestSharedSlotOnTheMove(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		held := s.take(p0, "n", permits(2, 2))
		next := s.wants(p1, "n", permits(1, 2))
		moving := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if moving && (step.Kind == "shared_lock" || step.Kind == "shared_renew" || step.Kind == "shared_unlock") {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		time.Sleep(900 * time.Millisecond) // the waiter's patience is a second
		if err := held.Err(); err != nil {
			t.Errorf("the lease while the slot moves: %v", err)
		}
		held.release()
		s.Atomically(func() { moving = false })
		s.soon("the next", next, 2*time.Second).release()
		time.Sleep(2 * time.Second)
		s.none("n")
	})
}

// The same for longer than the ttl: the lease lasts.
func TestSharedLeaseOutlastsAMove(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		held := s.take(p0, "n", permits(2, 2))
		moving := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if moving && step.Kind == "shared_renew" {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		time.Sleep(5 * time.Second)
		s.Atomically(func() { moving = false })
		time.Sleep(2 * time.Second)
		if err := held.Err(); err != nil {
			t.Errorf("the lease after the move: %v", err)
		}
		held.release()
		s.none("n")
	})
}
