package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Each test here is of MinHold: between two turns that ask for it
// lies that time, whatever the network loses, doubles or delays.

// keeps waits for a name that is to be held for at least d.
func (s stage) keeps(l *sim.Link, name string, d time.Duration) hold {
	s.t.Helper()
	return s.soon(l.Owner, s.waitsToKeep(l, name, d), time.Minute)
}

// waitsToKeep is waits for keeps.
func (s stage) waitsToKeep(l *sim.Link, name string, d time.Duration) <-chan hold {
	got := make(chan hold, 1)
	h := s.Watch.Called(l, name)
	go func() {
		mutex := l.Client.Mutex(name)
		mutex.MinHold = d
		lease, err := mutex.Lock(s.t.Context())
		if err != nil {
			close(got)
			return
		}
		s.Watch.Granted(h, lease)
		got <- hold{lease, h, s}
	}()
	time.Sleep(50 * time.Millisecond)
	return got
}

// afterCooldown fails the test unless next comes d after began, and soon then.
func (s stage) afterCooldown(next <-chan hold, began time.Time, d time.Duration) hold {
	s.t.Helper()
	s.notBefore("the next", next, time.Until(began.Add(d))-time.Millisecond)
	return s.soon("the next", next, 60*time.Millisecond)
}

// A quick holder: its name cools down, for other processes and for callers of its own,
// whoever asks how, and is said to.
func TestMinHoldCoolsDown(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p0, p1)
		began := time.Now()
		first := s.keeps(p0, "n", time.Minute)
		own := s.waits(p0, "n")
		next := s.waits(p1, "n")
		first.release()
		lease, err := p2.Client.Mutex("n").TryLock(t.Context())
		if held, ok := errors.AsType[*holdfast.HeldError](err); !ok || !held.Cooldown || held.Owner != "p0" {
			t.Errorf("TryLock = %v, %v; want that it cools down after p0", lease, err)
		}
		state, err := admin.Of(p2.Client).Inspect(t.Context(), "n")
		if err != nil || state.Holder == nil || !state.Holder.Cooldown || state.Holder.Owner != "p0" || state.Holder.Remaining < 58*time.Second {
			t.Errorf("Inspect = %+v, %v; want that it cools down after p0", state.Holder, err)
		}
		if len(state.Waiters) != 2 || state.Waiters[0].Owner != "p1" || state.Waiters[1].Owner != "p0" {
			t.Errorf("got %+v in line; want p1, p0", state.Waiters)
		}
		s.afterCooldown(next, began, time.Minute).release()
		s.soon("the own caller", own, 100*time.Millisecond).release()
		time.Sleep(100 * time.Millisecond)
		s.nothingLeft("n")
	})
}

// Revoke and Steal of a tenure that has ended return an error: nobody holds the name.
func TestMinHoldOrders(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, op := s.process("p0", 15*time.Second), s.process("op", 15*time.Second)
		first := s.keeps(p0, "n", time.Minute)
		tenure := s.hash(op, "n")
		first.release()
		time.Sleep(100 * time.Millisecond)
		_, revoked := admin.Of(op.Client).Revoke(t.Context(), "n", tenure, reason)
		for _, err := range []error{revoked, admin.Of(op.Client).Steal(t.Context(), "n", tenure, reason)} {
			wrong, ok := errors.AsType[*holdfast.TenureError](err)
			if !ok || !wrong.Cooldown || !strings.Contains(err.Error(), "it is in cool-down until MinHold has passed after the hold of p0") {
				t.Errorf("got %v; want that it cools down after p0", err)
			}
		}
	})
}

// The holder dies: the name stays locked until the time is over, however much of it
// has gone and however long the ttl; then it is free.
func TestMinHoldCrash(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, 3 * time.Second, 40 * time.Second} {
		for _, pushed := range []bool{false, true} {
			play(t, func(t *testing.T, s stage) {
				p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
				s.subscribe(p0, p1)
				var first hold
				if pushed {
					before := s.lock(p2, "n")
					waits := s.waitsToKeep(p0, "n", time.Minute)
					before.release()
					first = s.soon("p0", waits, time.Second)
				} else {
					first = s.keeps(p0, "n", time.Minute)
				}
				began := first.held.Got
				time.Sleep(after)
				p0.Kill()
				s.afterCooldown(s.waitsToKeep(p1, "n", time.Minute), began, time.Minute).release()
			})
		}
	}
}

// The tokens and the name are remembered as long as the name cools down.
func TestMinHoldOutlastsTheFence(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		const week = 7 * 24 * time.Hour
		first := s.keeps(p0, "n", week)
		_, fence, _ := sim.Keys("n")
		if left := s.Do("PTTL", fence).(int64); left < week.Milliseconds() {
			t.Errorf("held: the fence key lives for %d ms; want a week", left)
		}
		first.release()
		if left := s.Do("PTTL", fence).(int64); left < week.Milliseconds() {
			t.Errorf("in cool-down: the fence key lives for %d ms; want a week", left)
		}
		lock, _, _ := sim.Keys("n")
		if got := s.Do("GET", lock).(string); !strings.HasPrefix(got, "cooldown|") {
			t.Errorf("the lock key is %q; want that it cools down", got)
		}
	})
}

// A caller that gives up in the very moment of the grant has done nothing under it. Which of
// the two it sees first is chance, so it is tried until it sees the end of its context.
func TestMinHoldGivenUpWhenGranted(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		granted, abandoned := make(chan struct{}, 1), make(chan struct{}, 1)
		p0 := s.Process("p0", holdfast.Options{TTL: 3 * time.Second, OnEvent: func(e holdfast.Event) {
			switch e.(type) {
			case holdfast.Granted:
				granted <- struct{}{}
			case holdfast.Released:
				abandoned <- struct{}{}
			}
		}}, 1)
		for i := range 100 {
			name := "n" + itoa(int64(i))
			mutex := p0.Client.Mutex(name)
			mutex.MinHold = time.Second // no renewal before
			lease, err := mutex.Lock(endsWhen(t.Context(), granted))
			if err == nil {
				_ = lease.Release()
				<-abandoned
				continue
			}
			<-abandoned // it was granted
			s.nothingLeft(name)
			return
		}
		t.Error("it never gave up in that moment")
	})
}

// endingContext ends when something has come, before it says when it ends.
type endingContext struct {
	context.Context
	end func()
	on  <-chan struct{}
}

func endsWhen(parent context.Context, on <-chan struct{}) *endingContext {
	ctx, end := context.WithCancel(parent)
	return &endingContext{ctx, end, on}
}

func (c *endingContext) Done() <-chan struct{} {
	select {
	case <-c.on:
		c.end()
	case <-time.After(10 * time.Millisecond): // nothing was asked for
	}
	return c.Context.Done()
}

// A push tells the head of the queue how long the name cools down. So the head does not wait for the
// end of the ttl that it had seen.
func TestMinHoldHeadIsNotified(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p1)
		first := s.keeps(p0, "n", 10*time.Second)
		next := s.waits(p1, "n")
		first.release()
		s.afterCooldown(next, first.held.Got, 10*time.Second).release()
	})
}

// MinHold again, with a network that loses, doubles and delays,
// and processes that stop.

// The holder dies, and a late duplicate of its lock comes: it does not cut the life
// of the lock key to the ttl.
func TestMinHoldLateLock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "lock" {
				f.Again = 10 * time.Second
			}
		})
		first := s.keeps(p0, "n", time.Minute)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "n"), first.held.Got, time.Minute).release()
	})
}

// The release runs twice, and once more when another holds the name: that one
// keeps it, and nobody waits in the queue who does not wait.
func TestMinHoldDoubledRelease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "cooldown" {
				f.Twice, f.Again = true, 25*time.Second
			}
		})
		first := s.keeps(p0, "n", 20*time.Second)
		next := s.waits(p1, "n")
		own := s.waits(p0, "n")
		first.release()
		second := s.afterCooldown(next, first.held.Got, 20*time.Second)
		second.release()
		s.soon("the own caller", own, time.Second).release()
		third := s.lock(p1, "n")
		s.lookFor("n", 10*time.Second)
		if _, waiters := s.left("n"); waiters != 0 {
			t.Errorf("%d wait; want none", waiters)
		}
		third.release()
	})
}

// A slot moves: what falls back to the lock key alone keeps the MinHold.
func TestMinHoldWhileASlotMoves(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.subscribe(p1)
		moves := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if moves && step.Process == 0 && (step.Kind == "renew" || step.Kind == "cooldown") {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		first := s.keeps(p0, "n", 20*time.Second)
		began := first.held.Got
		time.Sleep(5 * time.Second)
		first.release()
		s.Atomically(func() { moves = false })
		s.afterCooldown(s.waits(p1, "n"), began, 20*time.Second).release()
		time.Sleep(10 * time.Second)
		s.nothingLeft("n")

		s.Atomically(func() { moves = true })
		again := s.keeps(p0, "n", 20*time.Second)
		time.Sleep(5 * time.Second)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "n"), again.held.Got, 20*time.Second).release()
	})
}

// The lock key was deleted: the release that finds nothing to cool down hands the queue over.
func TestMinHoldDeleted(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		first := s.keeps(p0, "n", time.Minute)
		next := s.waits(p1, "n")
		time.Sleep(10 * time.Millisecond)
		s.Evict("n")
		first.release()
		s.soon("the next", next, 100*time.Millisecond).release()
	})
}

// A renewal from before the time was prolonged comes late: it does not cut that.
func TestMinHoldLateShortRenewal(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		first := s.keeps(p0, "n", 10*time.Second)
		began := first.held.Got
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && time.Since(began) < 2*time.Second {
				f.Again = 3 * time.Second
			}
		})
		time.Sleep(2 * time.Second)
		mutex := p0.Client.Mutex("n")
		mutex.Reentrant, mutex.MinHold = true, time.Minute
		if _, err := mutex.Lock(first.Context(t.Context())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "n"), began, time.Minute).release()
	})
}
