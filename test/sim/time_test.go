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

// The start of a life is read before the request is sent, however late its
// answer comes.
func TestStartIsBeforeTheSend(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" || step.Kind == "renew" {
				f.Back = 200 * time.Millisecond
			}
			f.LoseOut = step.Kind == "renew" && step.N > 2
		})
		holder := s.lock(s.process("p0", time.Second), "n")
		s.lookFor("n", 3*time.Second)
		s.Watch.Leaves(holder.held)
		_ = holder.Release()
	})
}

// The start of a pushed grant: a push that was long on its way does not bring a
// life that begins on arrival.
func TestStartOfAPushedGrant(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "grant" {
				f.Out = 1200 * time.Millisecond
			}
			f.LoseOut = step.Kind == "renew"
		})
		holder := s.lock(s.process("p0", 15*time.Second), "n")
		next := s.waits(s.process("p1", 15*time.Second), "n")
		holder.release()
		select {
		case got, ok := <-next:
			if ok {
				s.lookFor("n", 2*time.Second)
				s.Watch.Leaves(got.held)
				_ = got.Release()
			}
		case <-time.After(20 * time.Second):
			t.Error("nothing is granted")
		}
	})
}

// The start of a pushed grant: between the answer that it is reckoned from and
// the grant, clocks whose rates differ by just under 1 % drift apart.
func TestStartOfAPushedGrantWithDrift(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.SetRate(1.0045)
		p0, p1 := s.process("p0", 15*time.Second), s.Process("p1", holdfast.Options{TTL: 15 * time.Second}, 0.9955)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "grant" {
				f.Out = 300 * time.Millisecond
			}
			f.LoseOut = step.Process == 1 && step.Kind == "renew"
		})
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		time.Sleep(14 * time.Second)
		holder.release()
		got := s.soon("the waiter", next, time.Second)
		s.lookFor("n", 2*time.Second)
		s.Watch.Leaves(got.held)
		_ = got.Release()
	})
}

// The start of a pushed grant: what was measured on an earlier subscription does
// not count, the server may be another one, with another clock.
func TestStartAfterAnotherServer(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		next := s.waits(p1, "n")
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Process == 1 && step.Kind == "lock":
				f.LoseBack = true // nothing is answered on the new subscription
			case step.Kind == "grant":
				f.Out = time.Second
			case step.Kind == "renew":
				f.LoseOut = true
			}
		})
		p1.Cut()
		time.Sleep(100 * time.Millisecond)
		s.Watch.Leaves(holder.held)
		s.StepBack(-1500 * time.Millisecond) // it promotes a server whose clock is ahead, by less than makes the push suspect
		_ = holder.Release()
		got, ok := <-next
		if ok {
			s.lookFor("n", 2*time.Second)
			s.Watch.Leaves(got.held)
			_ = got.Release()
		}
	})
}

// The start of a pushed grant: a request that is under way proves nothing; the
// grant may be older than it.
func TestRequestInFlightDoesNotCount(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 500*time.Millisecond), s.process("p1", 15*time.Second)
		s.subscribe(p1)
		holder := s.lock(p0, "n")
		stands := false
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Process == 1 && step.Kind == "lock":
				f.LoseBack, f.LoseOut = true, stands // p1 never gets an answer and asks again
				stands = true
			case step.Kind == "grant":
				f.Out = 1200 * time.Millisecond // until one is under way
			case step.Process == 1 && step.Kind == "renew":
				f.LoseOut = true
			}
		})
		h := s.Watch.Called(p1, "n")
		time.AfterFunc(1500*time.Millisecond, holder.release)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		if lease, err := p1.Client.Mutex("n").Lock(ctx); err == nil {
			s.Watch.Granted(h, lease)
			s.lookFor("n", 2*time.Second)
			s.Watch.Leaves(h)
			_ = lease.Release()
		}
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

// A suspend is noticed by who holds one name and has given back another.
func TestSuspendAfterARelease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		s.lock(p0, "m").release()
		time.Sleep(5200 * time.Millisecond) // just renewed: nothing is due
		p0.Leap(20 * time.Second)
		s.known(holder, 250*time.Millisecond)
	})
}

// After a reconnect everything that is held is renewed at once: a lock that the
// server does not know any more is known as lost long before a third of its ttl.
func TestReconnectRenewsAll(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		go s.Restart(true, 700*time.Millisecond) // a second after the grant it would subscribe
		time.Sleep(time.Millisecond)
		s.lock(p0, "m").release() // it fails, is tried again, and succeeds
		select {
		case <-holder.Done():
		case <-time.After(50 * time.Millisecond):
			t.Error("the loss is not known 50 ms after the server answers again")
		}
		var lost *holdfast.LostError
		if err := holder.Err(); !errors.As(err, &lost) || lost.Cause != holdfast.Gone {
			t.Errorf("Err = %v; want a LostError, cause gone", err)
		}
		s.Watch.Leaves(holder.held)
		_ = holder.Release()
	})
}
