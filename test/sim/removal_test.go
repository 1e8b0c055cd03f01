package sim_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// longestRemoval is how long a call whose context has ended may still take.
const longestRemoval = 20 * time.Millisecond

// A program may exit when the call returns whose context has ended. Where Redis answers
// quickly nothing is left of the call then, whatever it was in the middle of.
func TestNothingIsLeftWhenAWaitReturns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for round := *first; round < *first+max(60, *seeds/40); round++ {
		for _, m := range middles {
			if returnInTheMiddle(t, round, m.what, m.first, 2*time.Millisecond, false); t.Failed() {
				t.Fatalf("round %d: %s", round, m.what)
			}
		}
		if returnInTheMiddle(t, round, "lock", "lock", 2*time.Millisecond, true); t.Failed() {
			t.Fatalf("round %d: lock, again", round)
		}
	}
}

// Where Redis is slow the call returns after 20 ms, and the rest goes on behind it.
func TestAWaitReturnsInTime(t *testing.T) {
	for round := *first; round < *first+12; round++ {
		for _, m := range middles {
			if returnInTheMiddle(t, round, m.what, m.first, 400*time.Millisecond, false); t.Failed() {
				t.Fatalf("round %d: %s", round, m.what)
			}
		}
	}
}

// returnInTheMiddle ends the context of a call at some moment; again: its process holds
// the name just before, and gives it back then.
func returnInTheMiddle(t *testing.T, round uint64, what, first string, way time.Duration, again bool) {
	play(t, func(t *testing.T, s stage) {
		r := rand.New(rand.NewPCG(round, 79))
		some := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		if round%4 < 2 {
			s.Shard()
		}
		travels := rand.New(rand.NewPCG(round, 80))
		s.SetNetwork(func(sim.Step) sim.Fate {
			return sim.Fate{
				Out: 1 + time.Duration(travels.Int64N(int64(way))), Back: 1 + time.Duration(travels.Int64N(int64(way))),
				Overtake: travels.IntN(2) == 0,
			}
		})
		released := make(chan struct{})
		close(released)
		var own hold
		if again {
			own = s.lock(p1, "n")
			next := s.waits(p0, "n")
			go func() { h := <-next; time.Sleep(20 * way); h.release() }()
		}
		text := held(t, p0, first, some(20*way), !again && round%3 > 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		home := make(chan error, 1)
		go func() {
			lease, err := begin(ctx, what, p1, cmp.Or(text, "-p1"))
			if err == nil {
				err = errors.Join(err, lease.Release())
			}
			home <- err
		}()
		time.Sleep(some([]time.Duration{2 * way, 20 * way}[round%2]))
		if again {
			released = make(chan struct{})
			go func() { own.release(); close(released) }()
			time.Sleep(some(2 * way))
		}
		cancel()
		began := time.Now()
		err := <-home
		switch d := time.Since(began); {
		case !errors.Is(err, context.Canceled): // it had come to its end before
		case d > longestRemoval:
			t.Errorf("the call returned %v after the end of its context, want %v at most", d, longestRemoval)
		case way < longestRemoval/8:
			<-released
			s.noneOf("|p1", "|v-p1")
		}
		time.Sleep(10 * time.Second) // what was under way
		s.noneOf("|p1", "|v-p1")
	})
}
