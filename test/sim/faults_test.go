package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Rule 2: a grant that is heard of twice, by push and by answer, late and again,
// neither gives a token twice nor revives what has ended.
func TestGrantArrivesTwice(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "grant" {
				f.Twice, f.Again = true, 300*time.Millisecond
			}
		})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		stop := s.keepsBusy(p1, "n", time.Millisecond)
		holder.release()
		time.Sleep(100 * time.Millisecond)
		stop()
		time.Sleep(time.Second)
		s.nothingLeft("n")
	})
}

// Rule 4: the fresh id of an unlock that found somebody else's lock key, or none, is
// not in the queue; lock is sent for it.
func TestFreshIDThatWasNotQueued(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n") // recalls p0
		time.Sleep(10 * time.Millisecond)
		own := s.waits(p0, "n") // not one of the waiters that are still served
		s.Evict("n")
		s.Watch.Leaves(holder.held)
		if err := holder.Release(); err != nil && !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release = %v", err)
		}
		s.soon("the other process", next, time.Second).release()
		s.soon("the own caller", own, time.Second).release()
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// Rule 4: a late duplicate of an unlock does not queue its fresh id again.
func TestLateUnlockQueuesNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Queues() != "" {
				f.Again = 2 * time.Second
			}
		})
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		own := s.waits(p0, "n")
		holder.release()
		s.soon("the other process", next, time.Second).release()
		s.soon("the own caller", own, time.Second).release()
		last := s.lock(p1, "n")
		time.Sleep(3 * time.Second)
		if _, waiters := s.left("n"); waiters > 0 {
			t.Errorf("%d waiters; want none", waiters)
		}
		last.release()
	})
}

// Rule 7: a connection that gives no sign of life for ten seconds is broken.
func TestSilentSubscriptionIsBroken(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		p1.Deafen()
		time.Sleep(11 * time.Second)
		holder.release()
		s.soon("the waiter", next, 300*time.Millisecond).release()
	})
}

// Rule 9: while a slot moves, leases are kept and released by the lock key alone.
func TestSlotOnTheMove(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		moving := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if moving && (step.Kind == "lock" || step.Kind == "unlock" || step.Kind == "renew" || step.Kind == "cancel") {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		p0, p1 := s.process("p0", time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		s.Atomically(func() { moving = true })
		time.Sleep(10 * time.Second)
		if err := holder.Err(); err != nil {
			t.Fatalf("the lease says %v; want it kept", err)
		}
		holder.release()
		if lock, _ := s.left("n"); lock {
			t.Error("the lock key is left after the release")
		}
		time.Sleep(300 * time.Millisecond)
		s.Atomically(func() { moving = false })
		s.soon("the waiter", next, 2*time.Second).release()
		time.Sleep(time.Second)
		s.nothingLeft("n")
	})
}

// Rule 9: while a slot moves, a lock is tried again, and the caller sees only
// that it takes longer.
func TestLockWhileASlotMoves(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		began := time.Now()
		s.on(func(step sim.Step, f *sim.Fate) {
			if time.Since(began) < 500*time.Millisecond && step.Kind == "lock" {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
				if step.N%2 == 1 {
					f.Refuse = "CLUSTERDOWN The cluster is down"
				}
			}
		})
		s.lock(s.process("p0", 15*time.Second), "n").release()
	})
}

func (s stage) giveUpLater2(l *sim.Link, name string) {
	go func() { _, _ = l.Client.Mutex(name).Lock(context.Background()) }()
	time.Sleep(50 * time.Millisecond)
}

// One name is refused for good; what else is under way is undone all the same.
func TestCloseAfterARefusal(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 10*time.Minute)
		s.lock(p0, "bad")
		_, _, q := sim.Keys("bad")
		s.Do("SET", q, "a string")
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Out = 300 * time.Millisecond
			}
		})
		s.giveUpLater2(p0, "n")
		t.Log(p0.Client.Close())
		time.Sleep(time.Second)
		s.nothingLeft("n")
	})
}

// Rule 3 where no answer ever comes: TCP brings a lock long after its connection was
// closed, and after its cancel was answered. The cancel goes out again for two minutes,
// and when the client is closed.
func TestLockArrivesBehindItsCancel(t *testing.T) {
	for _, closes := range []bool{false, true} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			s.subscribe(p0)
			holder := s.lock(p1, "n")
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Process == 0 && step.Waits() {
					f.Out = 20 * time.Second
				}
			})
			s.giveUp(p0, "n", 5*time.Second)
			time.Sleep(10 * time.Second)
			if _, waiters := s.left("n"); waiters != 0 {
				t.Fatalf("%d wait in the queue, want nobody yet", waiters)
			}
			time.Sleep(13 * time.Second)
			if closes {
				if err := p0.Client.Close(); err != nil {
					t.Error(err)
				}
			} else {
				time.Sleep(15 * time.Second)
			}
			if _, waiters := s.left("n"); waiters != 0 {
				t.Errorf("closed %v: %d wait in the queue, want nobody", closes, waiters)
			}
			holder.release()
			time.Sleep(5 * time.Minute)
			s.nothingLeft("n")
			s.on(func(step sim.Step, _ *sim.Fate) { t.Errorf("after five minutes it still sends %s", step.Kind) })
			time.Sleep(5 * time.Minute)
		})
	}
}

// known wants the loss of a lease to be known within d.
func (s stage) known(h hold, d time.Duration) {
	s.t.Helper()
	select {
	case <-h.Done():
	case <-time.After(d):
		s.t.Errorf("the loss is not known after %v", d)
	}
	s.Watch.Leaves(h.held)
	_ = h.Release()
}

// The old master is silent, with our subscription: the new one says that it
// does not know it, and the ping that hangs is not waited for.
func TestForgottenWhileThePingHangs(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 6*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		subscribed := make(chan struct{})
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Process == 1 && step.Kind == "subscribe" {
				close(subscribed)
			}
		})
		time.Sleep(time.Second)
		p1.Deafen() // the ping is sent 5 s after the last sign of life
		time.Sleep(4500 * time.Millisecond)
		select {
		case <-subscribed: // it has looked 6 s after it queued
		case <-time.After(2 * time.Second):
			t.Error("the subscription is not mended")
		}
		holder.release()
		s.soon("the waiter", next, 300*time.Millisecond).release()
	})
}

// A late run of an adoption does not cut the ttl that MinHold has got
// since: the holder dies, and the name cools down on.
func TestAdoptCutsNoMinHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 3*time.Second)
		text := s.lock(p0, "n").export()
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "adopt" {
				f.Again = 2 * time.Second
			}
		})
		h := s.adopt(p1, "n", text)
		m := p1.Client.Mutex("n")
		m.Reentrant, m.MinHold = true, time.Minute
		if _, err := m.Lock(h.Context(t.Context())); err != nil {
			t.Fatal(err)
		}
		p1.Kill()
		time.Sleep(20 * time.Second)
		if !s.locked("n") {
			t.Error("after 20 s the name is free; want it to rest for a minute")
		}
	})
}

// A late run of what made a hold leaves the fence key at least the life that a MinHold
// of holding has given it: the tokens outlive the lock.
func TestLateRunCutsNoFence(t *testing.T) {
	for _, kind := range []string{"lock", "adopt", "multi_lock"} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 3*time.Second)
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == kind && step.Process == 1 {
					f.Again = 2 * time.Second
				}
			})
			var h interface {
				Context(context.Context) context.Context
			}
			switch kind {
			case "lock":
				h = s.lock(p1, "n")
			case "adopt":
				h = s.adopt(p1, "n", s.lock(p0, "n").export())
			case "multi_lock":
				h, _ = s.multi(p1, time.Minute, "n", "o")
			}
			m := p1.Client.Mutex("n")
			m.Reentrant, m.MinHold = true, 48*time.Hour
			if _, err := m.Lock(h.Context(t.Context())); err != nil {
				t.Fatal(err)
			}
			p1.Kill()
			time.Sleep(10 * time.Second)
			lock, fence, _ := sim.Keys("n")
			life, _ := s.Do("PTTL", lock).(int64)
			left, _ := s.Do("PTTL", fence).(int64)
			if life < (47*time.Hour).Milliseconds() || left < life+(24*time.Hour).Milliseconds() {
				t.Errorf("%s: the lock lives for %d ms and its fence key for %d; want a day more", kind, life, left)
			}
		})
	}
}

// stuck is a log handler that never returns.
type stuck struct {
	slog.Handler
	asked, never chan struct{}
}

func (h stuck) Handle(context.Context, slog.Record) error {
	select {
	case h.asked <- struct{}{}:
	default:
	}
	<-h.never
	return nil
}

// A log handler that blocks, as with a full pipe, stops no lock.
func TestLoggerCanNotBlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		h := stuck{slog.Default().Handler(), make(chan struct{}, 1), make(chan struct{})}
		defer close(h.never)
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Logger: slog.New(h)}, 1)
		s.subscribe(p0)
		refused := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "cancel" && !refused {
				refused, f.Refuse = true, "NOPERM no right" // logged: nobody is left to return it to
			}
		})
		holder := s.lock(s.process("p1", 15*time.Second), "n")
		s.giveUp(p0, "n", 100*time.Millisecond)
		<-h.asked
		s.lock(p0, "m").release()
		holder.release()
	})
}

// Dead waiters in front of a living one, behind a dead holder, cost it next to
// nothing.
func TestDeadWaitersInFront(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.process("p0", 2*time.Second)
		s.lock(holder, "n")
		var dead []*sim.Link
		for i := range 5 {
			l := s.process(fmt.Sprint("dead", i), 15*time.Second)
			s.waits(l, "n")
			dead = append(dead, l)
		}
		next := s.waits(s.process("p1", 15*time.Second), "n")
		for _, l := range append(dead, holder) {
			l.Kill()
		}
		s.soon("who stands behind the dead", next, 2600*time.Millisecond).release()
	})
}

// A grant that somebody forges may not name a life longer than any claim window.
func TestForgedGrantIsShort(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		id := ""
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Kind == "lock" {
				id = step.ID
			}
			f.LoseOut = step.Process == 1 && step.Kind == "renew"
		})
		holder := s.lock(p0, "n")
		got := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go func() {
			_, err := p1.Client.Mutex("n").Lock(ctx)
			got <- err
		}()
		time.Sleep(50 * time.Millisecond)
		s.Atomically(func() {
			client, _, _ := strings.Cut(id, ".")
			s.Do("PUBLISH", "holdfast/push:"+client, "grant 9000000000063 64 0 "+itoa(time.Now().Unix())+" 0 3600000 "+id)
		})
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock = %v; want the push dropped", err)
		}
		holder.release()
	})
}
