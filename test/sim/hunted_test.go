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

// Half of the keys do not answer, as where one shard of a Cluster is gone: an
// answer of the other half must not renew everything again and again.
func TestNoStormOfRenewals(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		for i := range 40 {
			lease, err := p0.Client.Mutex(fmt.Sprint(i)).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release() //nolint:errcheck // the end of the test
		}
		renewals := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" {
				renewals++
				f.LoseOut, f.Reset = renewals%2 == 0, true
			}
		})
		time.Sleep(5 * time.Second)
		s.Guard(func() {
			if renewals > 1000 {
				t.Errorf("%d renewals of 40 tenures in 5 s", renewals)
			}
		})
		s.on(func(sim.Step, *sim.Fate) {})
	})
}

// An answer that is older than the present subscription says nothing of what was
// pushed before it: ask again.
func TestAnswerOlderThanTheSubscription(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p1)
		holder := s.lock(p0, "n")
		slow := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Kind == "lock" && slow {
				f.Back, slow = time.Second, false
			}
		})
		next := s.waits(p1, "n")
		p1.Cut()
		holder.release() // p1 is dead at this moment: the name is free
		s.soon("the waiter", next, 1100*time.Millisecond).release()
	})
}

// A new head behind a foreign holder goes on polling.
func TestHeadDoesNotEndPolling(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		lock, _, _ := sim.Keys("n")
		s.Do("SET", lock, "theirs", "PX", "30000")
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.giveUpLater(p0, "n", 500*time.Millisecond)
		next := s.waits(p1, "n")
		time.Sleep(time.Second)
		s.Do("DEL", lock)
		s.soon("the new head", next, 600*time.Millisecond).release()
	})
}

// While the subscription is broken no recall is heard; a process whose callers
// go on asks Redis who waits.
func TestRecallWhileTheSubscriptionIsBroken(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Minute), s.process("p1", time.Minute)
		s.subscribe(p0, p1)
		stop := s.keepsBusy(p0, "n", 300*time.Millisecond)
		defer stop()
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Process == 0 && step.Kind == "subscribe" })
		time.Sleep(time.Second)
		p0.Cut()
		time.Sleep(100 * time.Millisecond)
		next := s.waits(p1, "n")
		s.soon("the other process", next, 3*time.Second).release()
	})
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

// The context of a lease that is over is no reason to refuse a lock.
func TestNoDeadlockWithALeaseThatIsOver(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		first := s.lock(p0, "n")
		ctx := context.WithoutCancel(first.Context(t.Context()))
		if _, err := p0.Client.Mutex("n").Lock(ctx); !errors.Is(err, holdfast.ErrDeadlock) {
			t.Errorf("Lock under a lease of the name = %v; want ErrDeadlock", err)
		}
		first.release()
		lease, err := p0.Client.Mutex("n").Lock(ctx)
		if err != nil {
			t.Fatalf("Lock under a lease that is over = %v", err)
		}
		_ = lease.Release()
	})
}

// A wait that was given up while its process could not reach Redis, for longer
// than its ttl, is taken out of the queue when it can.
func TestCancelOutlastsTheTTL(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", time.Second)
		away := false
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = away && step.Process == 1 })
		holder := s.lock(p0, "n")
		s.giveUpLater(p1, "n", time.Second)
		s.Guard(func() { away = true })
		time.Sleep(10 * time.Minute)
		if _, waiters := s.left("n"); waiters != 1 {
			t.Fatalf("%d waiters; want the one that was given up", waiters)
		}
		s.Guard(func() { away = false })
		time.Sleep(15 * time.Second)
		if _, waiters := s.left("n"); waiters != 0 {
			t.Errorf("%d waiters; want none", waiters)
		}
		holder.release()
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
		s.Guard(func() {
			client, _, _ := strings.Cut(id, ".")
			s.Do("PUBLISH", "holdfast/push:"+client, "grant 9000000000063 64 0 "+itoa(time.Now().Unix())+" 0 3600000 "+id)
		})
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock = %v; want the push dropped", err)
		}
		holder.release()
	})
}

// A TryLock that was refused leaves nothing in Redis, and costs one command.
func TestRefusedTryLockNeedsNoCancel(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.lock(s.process("p0", 15*time.Second), "n")
		p1 := s.process("p1", 15*time.Second)
		steps := 0
		s.on(func(sim.Step, *sim.Fate) { steps++ })
		if _, err := p1.Client.Mutex("n").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("TryLock = %v; want ErrHeld", err)
		}
		time.Sleep(900 * time.Millisecond) // after a second its holder watches for a failover
		s.Guard(func() {
			if steps != 1 {
				t.Errorf("%d commands; want 1", steps)
			}
		})
		holder.release()
	})
}
