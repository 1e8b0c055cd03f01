package sim_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// next overtakes the answer that says "queued": the look it asks for is lost.
func TestHeadOvertakesTheAnswer(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p0, p1, p2)
		holder := s.lock(p0, "n")
		s.giveUpLater2(p1, "n")
		slow := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 2 && step.Kind == "lock" && slow {
				f.Back, slow = 300*time.Millisecond, false
			}
			f.LoseOut = step.Process == 1 // frozen while queued
		})
		next := s.waits(p2, "n")
		holder.release() // p1 is granted, p2 is told next
		s.soon("the waiter behind a frozen one", next, 2500*time.Millisecond).release()
	})
}

// lock is slower than the cancel of its id, and its answer is lost.
func TestLateLockWithoutAnswer(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 10*time.Minute)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Out, f.LoseBack, f.Reset = 500*time.Millisecond, true, true
			}
		})
		s.giveUp(p0, "n", 100*time.Millisecond)
		time.Sleep(time.Minute)
		s.nothingLeft("n")
	})
}

// An unlock was lost on its way, and the moment to repeat it, with a fresh
// id to queue, comes while Close is undoing.
func TestCloseSendsNothingMore(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0, p1)
		holder := s.lock(p1, "n")
		s.giveUpLater2(p0, "n") // recalls p1
		s.giveUpLater2(p1, "n") // is not one of the waiters that are still served
		p0.Kill()
		unlocks := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Kind == "unlock" {
				unlocks++
				f.LoseOut = unlocks == 1
				if unlocks == 2 { // of Close
					f.Out = 400 * time.Millisecond
				}
			}
		})
		s.Watch.Leaves(holder.held)
		go func() { _ = holder.Release() }()
		time.Sleep(2002 * time.Millisecond) // it failed after 2 s, and is repeated 5 to 15 ms later
		if err := p1.Client.Close(); err != nil {
			t.Log(err)
		}
		s.nothingLeft("n")
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

// A grant that was sent after SUBSCRIBE was, but ran before that did.
func TestPushedBeforeSubscribed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Minute), s.process("p1", time.Minute)
		s.subscribe(p1)
		slow := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "subscribe" { // sent at the moment of the lock
				f.Out = 600 * time.Millisecond
			}
			if step.Process == 0 && step.Kind == "lock" && slow {
				f.Back, slow = time.Second, false
			}
		})
		stop := s.keepsBusy(p0, "n", 100*time.Millisecond)
		defer stop()
		time.Sleep(200 * time.Millisecond)
		next := s.waits(p1, "n")
		s.soon("the other process", next, 3*time.Second).release()
	})
}

// A renewal that was under way when the subscription was confirmed again.
func TestRenewalOlderThanTheSubscription(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Minute), s.process("p1", time.Minute)
		s.subscribe(p0, p1)
		stop := s.keepsBusy(p0, "n", 400*time.Millisecond)
		defer stop()
		n := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "subscribe" {
				f.Out = 1600 * time.Millisecond
			}
			if step.Process == 0 && step.Kind == "renew" {
				n++
				if n == 1 {
					f.Refuse = "BUSY Redis is busy running a script"
				}
				if n == 3 {
					f.Back = 400 * time.Millisecond
				}
				if n == 2 {
					f.Back = 1500 * time.Millisecond
				}
			}
		})
		p0.Cut()
		time.Sleep(1500 * time.Millisecond)
		next := s.waits(p1, "n")
		s.soon("the other process", next, 3*time.Second).release()
	})
}

// An idle tenure is kept while no recall can be heard.
func TestLingerWithoutASubscription(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: time.Minute, Linger: time.Hour, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1)
		p1 := s.process("p1", time.Minute)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "subscribe" {
				f.LoseOut, f.Reset = true, true
			}
		})
		s.lock(p0, "n").release()
		next := s.waits(p1, "n")
		s.soon("the other process", next, 3*time.Second).release()
	})
}
