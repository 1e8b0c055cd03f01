package sim_test

import (
	"context"
	"errors"
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

// Adopt in the process that exported, while its own callers wait for the name in
// line: they do not lose their place, and it is not mistaken for theirs.
func TestAdoptAtHome(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		own := s.waits(p0, "n")
		text := holder.export()
		time.Sleep(100 * time.Millisecond)
		got := s.adopt(p0, "n", text)
		late := s.waits(p0, "n")
		other := s.waits(p1, "n")
		if _, err := p0.Client.Mutex("n").Lock(got.Context(t.Context())); !errors.Is(err, holdfast.ErrDeadlock) {
			t.Errorf("Lock under the adopted lease: %v; want ErrDeadlock", err)
		}
		s.notBefore("a caller beside it", own, 6*time.Second)
		again := s.adopt(p1, "n", got.export())
		again.release()
		s.soon("the caller beside it", own, 100*time.Millisecond).release()
		s.soon("who came when it was adopted", late, 100*time.Millisecond).release()
		s.soon("the other", other, 100*time.Millisecond).release()
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

// Two adopt at the same moment: one gets it.
func TestAdoptByTwo(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			f.LoseBack = step.Kind == "adopt" && step.N == 0
		})
		text := s.lock(p0, "n").export()
		got := make(chan *holdfast.Lease, 2)
		for _, l := range []*sim.Link{p1, p2} {
			go func() {
				lease, err := l.Client.Adopt(context.Background(), text)
				if err != nil && !errors.Is(err, holdfast.ErrLost) {
					s.Watch.Broken("%s adopts: %v", l.Owner, err)
				}
				got <- lease
			}()
		}
		one, two := <-got, <-got
		if (one == nil) == (two == nil) {
			t.Fatalf("adopted: %v and %v; want one", one != nil, two != nil)
		}
		if one == nil {
			one = two
		}
		if err := one.Release(); err != nil {
			t.Error(err)
		}
	})
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

// The exporter never ends what it gave away: not when an answer of it comes late,
// nor when it closes with a request for that id under way.
func TestExportedIsNotCancelled(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p1)
		holder := s.lock(p0, "n")
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Kind == "lock" {
				f.Back = 1500 * time.Millisecond
			}
		})
		next := s.waits(p1, "n")
		holder.release()
		pushed := s.soon("the next, by a push", next, 100*time.Millisecond)
		text := pushed.export()
		stop := s.neverFree("n")
		defer stop()
		if err := p1.Client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		stop()
		s.adopt(p2, "n", text).release()
	})
}

// The exporter hears of the id that it gave away, as the holder that its callers
// wait for: it leaves it alone.
func TestExportedIsNoStaleID(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0)
		text := s.lock(p0, "n").export()
		stop := s.neverFree("n")
		defer stop()
		own := s.waits(p0, "n")
		if _, err := p0.Client.Mutex("n").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("TryLock = %v; want ErrHeld", err)
		}
		lock, _, _ := sim.Keys("n")
		s.Do("PEXPIRE", lock, "300000") // as if it were renewed again and again, late
		p0.Cut()                        // it looks again
		s.notBefore("a caller at the exporter", own, 60*time.Second)
		stop()
		got := s.adopt(p1, "n", text)
		got.release()
		s.soon("the caller at the exporter", own, time.Second).release()
	})
}

// Adopt that is given up while it is under way leaves nobody's hold behind.
func TestAdoptIsGivenUp(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		text := s.lock(p0, "n").export()
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "adopt" {
				f.Back = 200 * time.Millisecond
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := p1.Client.Adopt(ctx, text); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Adopt = %v; want that of its context", err)
		}
		time.Sleep(10 * time.Millisecond)
		s.nothingLeft("n")
		s.adoptionLost(p2, text, holdfast.Gone)
	})
}

// Redis does not answer: Adopt says so after patience, and what it took over all
// the same is given back when it does.
func TestAdoptUnreachable(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 2*time.Second)
		text := s.lock(p0, "n").export()
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseBack = step.Kind == "adopt" })
		if _, err := p1.Client.Adopt(t.Context(), text); !errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("Adopt = %v; want ErrUnreachable", err)
		}
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
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

// With WaitReplicas an adoption counts when the replicas have it.
func TestAdoptIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(1)
		options := holdfast.Options{TTL: 5 * time.Second, WaitReplicas: 1}
		p0, p1 := s.Process("p0", options, 1), s.Process("p1", options, 1)
		text := s.lock(p0, "n").export()
		got := s.adopt(p1, "n", text)
		s.Failover(0, 0)
		time.Sleep(6 * time.Second)
		if err := got.Err(); err != nil {
			t.Errorf("after a failover: %v; want it held", err)
		}
		got.release()
	})
}

// A Client that closes while its adoption is under way takes back what that took
// over, however late it arrives.
func TestAdoptWhileClosing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		text := s.lock(p0, "n").export()
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "adopt" {
				f.Out = 100 * time.Millisecond
			}
		})
		got := make(chan error, 1)
		go func() {
			_, err := p1.Client.Adopt(context.Background(), text)
			got <- err
		}()
		time.Sleep(50 * time.Millisecond)
		if err := p1.Client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-got; !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("Adopt = %v; want ErrClosed", err)
		}
		time.Sleep(time.Second)
		s.nothingLeft("n")
		if _, err := p1.Client.Adopt(t.Context(), text); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("Adopt after Close = %v; want ErrClosed", err)
		}
	})
}

// What is adopted and released is not kept idle: nobody could lock it there.
func TestAdoptedDoesNotLinger(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.Process("p1", holdfast.Options{TTL: 15 * time.Second, Linger: time.Minute}, 1)
		s.adopt(p1, "n", s.lock(p0, "n").export()).release()
		time.Sleep(10 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// An adoption that is lost before its caller has the lease is lost: it does not
// become a lock of the free name.
func TestAdoptLostBeforeItBegins(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(1)
		options := holdfast.Options{TTL: 5 * time.Second, WaitReplicas: 1}
		p0, p1 := s.Process("p0", options, 1), s.Process("p1", options, 1)
		text := s.lock(p0, "n").export()
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Kind == "renew" {
				f.Out = 200 * time.Millisecond
			}
		})
		time.AfterFunc(100*time.Millisecond, func() { s.Evict("n") })
		if _, err := p1.Client.Adopt(t.Context(), text); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Adopt = %v; want ErrLost", err)
		}
		time.Sleep(time.Second)
		s.nothingLeft("n")
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

// The same when somebody had ordered who adopted to stop: R says that then, and not
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
