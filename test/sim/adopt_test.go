package sim_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// export gives the hold away; its caller has stopped.
func (h hold) export() string {
	h.s.t.Helper()
	h.s.Watch.Leaves(h.held)
	text, err := h.Export()
	if err != nil {
		h.s.t.Fatalf("Export: %v\n%s", err, h.s.History(200))
	}
	return text
}

func (s stage) adopt(l *sim.Link, name, text string) hold {
	s.t.Helper()
	h := s.Watch.Called(l, name)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	lease, err := l.Client.Adopt(ctx, text)
	if err != nil {
		s.t.Fatalf("%s adopts %s: %v\n%s", l.Owner, name, err, s.History(200))
	}
	s.Watch.Granted(h, lease)
	return hold{lease, h, s}
}

// adoptionLost wants a further adoption to be refused.
func (s stage) adoptionLost(l *sim.Link, text string, cause holdfast.Cause) {
	s.t.Helper()
	var lost *holdfast.LostError
	if lease, err := l.Client.Adopt(s.t.Context(), text); !errors.As(err, &lost) || lost.Cause != cause {
		s.t.Errorf("Adopt = %v, %v; want lost: %s", lease, err, cause)
	}
}

// neverFree looks at the lock key all the time, until stop.
func (s stage) neverFree(name string) (stop func()) {
	lock, _, _ := sim.Keys(name)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; time.Sleep(3 * time.Millisecond) {
			if s.Do("GET", lock) == nil {
				s.Watch.Broken("%s was free in between", name)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// Export and Adopt: the exporter's lease is over, the adopter goes on, the name
// was never free, the token rises, and a waiter is served after the adopter.
func TestAdopt(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 6*time.Second), s.process("p2", 15*time.Second)
		holder := s.lock(p0, "n")
		ctx := holder.Context(t.Context())
		other := s.waits(p2, "n")
		own := s.waits(p0, "n")
		time.Sleep(4 * time.Second)
		stop := s.neverFree("n")
		defer stop()
		text := holder.export()
		holder.over(10*time.Millisecond, holdfast.Exported, "")
		if err := context.Cause(ctx); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("the exporter's context ended with %v; want ErrLost", err)
		}
		if err := holder.Release(); err != nil {
			t.Errorf("Release after Export: %v; want nil", err)
		}
		if _, err := holder.Export(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("a second Export: %v; want ErrLost", err)
		}
		time.Sleep(14 * time.Second) // of 15
		got := s.adopt(p1, "n", text)
		if got.Token() <= holder.Token() {
			t.Errorf("the adopter has token %d after %d", got.Token(), holder.Token())
		}
		s.adoptionLost(p2, text, holdfast.Taken)
		s.adoptionLost(p0, text, holdfast.Taken)
		time.Sleep(20 * time.Second)
		stop()
		if err := got.Err(); err != nil {
			t.Fatalf("the adopter's lease: %v", err)
		}
		got.release()
		s.soon("the next", other, 10*time.Millisecond).release()
		s.soon("the caller beside the exporter", own, 100*time.Millisecond).release()
		s.adoptionLost(p1, text, holdfast.Gone)
		time.Sleep(50 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// Adopt, whose answer is lost, or that runs twice: the same id asks again, and is
// granted once. One that arrives late takes nothing.
func TestAdoptIsRepeated(t *testing.T) {
	for _, fate := range []sim.Fate{{LoseBack: true}, {Twice: true}, {LoseOut: true}, {Again: 5 * time.Second}} {
		play(t, func(t *testing.T, s stage) {
			p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
			text := s.lock(p0, "n").export()
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "adopt" && step.Process == 1 && step.N == 0 {
					*f = fate
				}
			})
			got := s.adopt(p1, "n", text)
			s.adoptionLost(p2, text, holdfast.Taken)
			time.Sleep(time.Second)
			got.release()
			next := s.lock(p2, "n")
			time.Sleep(6 * time.Second)
			next.release()
		})
	}
}

// What nobody adopts ends by the exporter's ttl, which begins again with Export,
// and the queue goes on.
func TestNobodyAdopts(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 6*time.Second), s.process("p1", 6*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		time.Sleep(1900 * time.Millisecond)
		text := holder.export()
		s.notBefore("the next", next, 5900*time.Millisecond)
		got := s.soon("the next", next, 300*time.Millisecond)
		s.adoptionLost(p0, text, holdfast.Taken)
		got.release()
	})
}

// What was ordered of an exported hold holds for who adopts it.
func TestAdoptAfterAnOrder(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, op := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("op", 15*time.Second)
		text := s.lock(p0, "n").export()
		s.revoke(op, "n", reason)
		s.adoptionLost(p1, text, holdfast.Revoked)
		s.steal(op, "n", reason)
		s.adoptionLost(p1, text, holdfast.Stolen)
		text = s.lock(p0, "n").export()
		got := s.adopt(p1, "n", text)
		if heard := s.revoke(op, "n", reason); heard > 1 {
			t.Errorf("%d heard it; want at most the adopter", heard)
		}
		got.over(5500*time.Millisecond, holdfast.Revoked, reason)
		got.stops()
	})
}

// locksAgain makes each lock of the first process run once more, later: of an id that it
// has exported by then that is a stale id.
func (s stage) locksAgain(after time.Duration) {
	s.on(func(step sim.Step, f *sim.Fate) {
		if step.Kind == "lock" && step.Process == 0 {
			f.Again = after
		}
	})
}

func (s stage) wantStaleID(name string) {
	s.t.Helper()
	if lock, _ := s.left(name); !lock {
		s.t.Fatal("there is no stale id: the test shows nothing")
	}
}

// A late duplicate of the exporter's lock makes the exported id the holder once
// more, when who adopted has released: nobody adopts that stale id.
func TestAdoptedStaleID(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second), s.process("p2", 3*time.Second)
		s.locksAgain(2 * time.Second)
		text := s.lock(p0, "n").export()
		s.adopt(p1, "n", text).release()
		time.Sleep(2100 * time.Millisecond)
		s.wantStaleID("n")
		_, fence, _ := sim.Keys("n")
		s.Do("DEL", fence) // so that it tells nothing
		s.adoptionLost(p2, text, holdfast.Gone)
		time.Sleep(3 * time.Second)
		s.nothingLeft("n")
	})
}

// A late duplicate again, when somebody had ordered who adopted to stop: R says that then, and not
// what was adopted.
func TestAdoptedStaleIDBehindAnOrder(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second), s.process("p2", 3*time.Second)
		s.locksAgain(2 * time.Second)
		text := s.lock(p0, "n").export()
		got := s.adopt(p1, "n", text)
		s.revoke(p2, "n", "enough")
		got.release()
		time.Sleep(2100 * time.Millisecond)
		s.wantStaleID("n")
		s.adoptionLost(p2, text, holdfast.Gone)
		time.Sleep(3 * time.Second)
		s.nothingLeft("n")
	})
}

// Another kind of lock has the name by now: what was exported is over.
func TestAdoptWhatIsAnotherKindNow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", 15*time.Second)
		text := s.lock(p0, "n").export()
		time.Sleep(2 * time.Second)
		lease, err := p1.Client.RWMutex("n").RLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p1.Client.Adopt(t.Context(), text); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Adopt: %v; want ErrLost", err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

// A lease that several callers share is not exported under their feet.
func TestExportOfASharedLease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		m := p0.Client.Mutex("n")
		m.Reentrant = true
		share, err := m.Lock(holder.Context(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := holder.Export(); err == nil || errors.Is(err, holdfast.ErrLost) || holder.Err() != nil {
			t.Errorf("Export of a shared lease: %v, Err %v; want an error, and the lease as it was", err, holder.Err())
		}
		if err := share.Release(); err != nil {
			t.Error(err)
		}
		s.adopt(p1, "n", holder.export()).release()
	})
}

// Export asks Redis: what is lost is not exported, and while Redis does not
// answer the lease stays.
func TestExportAsksRedis(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		go p0.Silence(4 * time.Second)
		time.Sleep(time.Millisecond)
		if _, err := holder.Export(); !errors.Is(err, holdfast.ErrUnreachable) || holder.Err() != nil {
			t.Errorf("Export while Redis is silent: %v, Err %v; want ErrUnreachable, and the lease as it was", err, holder.Err())
		}
		time.Sleep(5 * time.Second)
		s.Evict("n")
		if _, err := holder.Export(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Export of what is lost: %v; want ErrLost", err)
		}
		holder.stops()
		gone := s.lock(p0, "n")
		gone.release()
		if _, err := gone.Export(); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("Export after Release: %v; want ErrReleased", err)
		}
	})
}

// A renewal that reserves tokens is under way when the lease is exported, and slower than
// what Export asks: it waits for that, or nobody could adopt.
func TestExportBehindATokenBlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Linger: time.Minute}, 1)
		p1 := s.process("p1", 15*time.Second)
		var slow atomic.Bool
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && len(step.Args) > 1 && step.Args[1] != "0" && slow.CompareAndSwap(false, true) {
				f.Out = 200 * time.Millisecond
			}
		})
		held := s.lock(p0, "n")
		for time.Sleep(time.Millisecond); !slow.Load(); time.Sleep(time.Millisecond) {
			held.release()
			held = s.lock(p0, "n")
		}
		text := held.export()
		time.Sleep(300 * time.Millisecond)
		s.adopt(p1, "n", text).release()
		s.nothingLeft("n")
	})
}

// A renewal that reserves tokens runs behind a later one, and nobody hears of it. Export's
// own tells of what it has reserved.
func TestExportBehindAnUnansweredTokenBlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Linger: time.Minute}, 1)
		p1 := s.process("p1", 15*time.Second)
		var slow atomic.Bool
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && len(step.Args) > 1 && step.Args[1] != "0" && !slow.Swap(true) {
				f.Out, f.LoseBack = 200*time.Millisecond, true
			}
		})
		held := s.lock(p0, "n")
		ensure := func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			_ = held.EnsureHeld(ctx)
		}
		for ensure(); !slow.Load(); ensure() {
			held.release()
			held = s.lock(p0, "n")
		}
		ensure() // overtakes it
		time.Sleep(4 * time.Second)
		s.adopt(p1, "n", held.export()).release()
	})
}
