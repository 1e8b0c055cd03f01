package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// The margin: clocks whose rates differ by just under 1 % do not let a holder
// believe longer than its lock key lives.
func TestMargin(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.SetRate(1.0045)
		slow := s.Process("p0", holdfast.Options{TTL: 15 * time.Second}, 0.9955)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "renew" })
		holder := s.lock(slow, "n")
		s.lookFor("n", 15*time.Second)
		s.Watch.Leaves(holder.held)
		_ = holder.Release()
	})
}

// One ttl per tenure: whatever script prolongs the lock key, it is by the ttl in its id.
func TestOneTTLPerTenure(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		s.on(func(step sim.Step, f *sim.Fate) { f.Twice = step.Kind == "lock" })
		stop0 := s.keepsBusy(p0, "n", 50*time.Millisecond)
		stop1 := s.keepsBusy(p1, "n", 400*time.Millisecond)
		lock, _, _ := sim.Keys("n")
		for range 1000 {
			if left := s.Do("PTTL", lock).(int64); left > 1000 {
				t.Fatalf("the lock key lives for %d ms more; want at most its ttl, 1000", left)
			}
			time.Sleep(5 * time.Millisecond)
		}
		stop0()
		stop1()
	})
}

// The claim window: a process that does not take what it was given keeps the
// others waiting for two seconds, not for its ttl.
func TestClaimWindow(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		holder := s.lock(p0, "n")
		s.waits(p1, "n")
		third := s.waits(p2, "n")
		go p1.Silence(8 * time.Second)
		time.Sleep(time.Millisecond)
		holder.release()
		s.notBefore("who stands behind", third, 1900*time.Millisecond)
		s.soon("who stands behind", third, 200*time.Millisecond).release()
		time.Sleep(10 * time.Second)
	})
}

// A fresh token block on a repeat: a lock that ran twice reserved tokens twice.
func TestFreshTokenBlockOnARepeat(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.Twice = step.Kind == "lock" })
		p0 := s.process("p0", 15*time.Second)
		first := s.lock(p0, "n")
		first.release()
		second := s.lock(p0, "n")
		if second.Token() <= first.Token()+64 {
			t.Errorf("token %d after %d; want one above both token blocks of 64", second.Token(), first.Token())
		}
		second.release()
	})
}

// Tokens never run more than a second ahead of the server's clock, however many
// are asked for.
func TestTokensStayNearTheClock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		_, fence, _ := sim.Keys("n")
		ahead := time.Now().UnixMicro()*2 + 2_000_000
		s.Do("SET", fence, itoa(ahead))
		holder := s.lock(s.process("p0", 15*time.Second), "n")
		if got, want := holder.Token(), ahead+1; got != want {
			t.Errorf("token %d; want %d", got, want)
		}
		if got := s.Do("GET", fence); got != itoa(ahead+1) {
			t.Errorf("the fence key is %v; want %d: beyond a second it reserves one token at a time", got, ahead+1)
		}
		holder.release()
	})
}

// A machine that was suspended knows within 250 ms of waking up what it lost.
func TestSuspend(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		ctx := holder.Context(context.Background())
		time.Sleep(5200 * time.Millisecond) // just renewed: nothing is due
		p0.Leap(20 * time.Second)
		if err := holder.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Err = %v at the first look; want ErrLost", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
			t.Error("its context is not over after 250 ms")
		}
		s.Watch.Leaves(holder.held)
		_ = holder.Release()
	})
}

// So does one that only waited before, when the scheduler had more time.
func TestSuspendAfterAWait(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		other := s.lock(p1, "m")
		next := s.waits(p0, "m")
		for range 4 { // wherever the scheduler is on its way
			time.Sleep(4700 * time.Millisecond)
			holder := s.lock(p0, "n")
			p0.Leap(20 * time.Second)
			s.known(holder, 250*time.Millisecond)
		}
		other.release()
		s.soon("p0", next, 25*time.Second).release()
	})
}

// What is locked right after a suspend is renewed in time, though the scheduler of one
// that only waited would sleep on.
func TestLockAfterASuspend(t *testing.T) {
	for _, slept := range []time.Duration{time.Second, 20 * time.Second} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", time.Second), s.process("p1", 15*time.Second)
			other := s.lock(p1, "m")
			next := s.waits(p0, "m")
			for range 16 { // wherever the scheduler is on its way
				time.Sleep(4760 * time.Millisecond)
				p0.Leap(slept)
				holder := s.lock(p0, "n")
				time.Sleep(1370 * time.Millisecond)
				if err := holder.Err(); err != nil {
					t.Errorf("it was not renewed after a suspend of %v: %v", slept, err)
				}
				s.Watch.Leaves(holder.held)
				_ = holder.Release()
			}
			other.release()
			s.soon("p0", next, 25*time.Second).release()
		})
	}
}

// What had nothing to do before a suspend looks after a wait that begins after it, by
// the time it would have slept on.
func TestWaitAfterASuspend(t *testing.T) {
	for _, slept := range []time.Duration{time.Second, 2 * time.Hour} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 2*time.Second)
			s.lock(p0, "n").release()
			time.Sleep(10 * time.Minute)
			p0.Leap(slept)
			holder := s.lock(p1, "n")
			next := s.waits(p0, "n")
			s.Watch.Leaves(holder.held)
			p1.Kill()
			s.soon("who waits", next, 3*time.Second).release()
		})
	}
}
