package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Random runs: processes that hold a name for a MinHold, or don't ask for one, on a
// network that loses, doubles and delays, some of them killed. Whoever follows a turn
// with a MinHold does so no earlier than it says, but for the round trip of a grant;
// and somebody does follow.
func TestMinHoldRandomRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			w := sim.NewWorld(seed)
			run := &holdRun{World: w, random: rand.New(rand.NewPCG(seed, 7))}
			run.play()
			w.Close()
			for _, b := range w.Watch.Violations() {
				t.Errorf("seed %d: %s", seed, b)
			}
			if run.turns < 20 {
				t.Errorf("seed %d: %d turns; want more", seed, run.turns)
			}
			if t.Failed() {
				t.Log(w.History(400))
			}
		})
		if t.Failed() {
			return
		}
	}
}

type holdRun struct {
	*sim.World
	mu     sync.Mutex // protects the rest
	random *rand.Rand
	turns  int
	free   time.Time // before this nobody may begin
}

func (s *holdRun) chance(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// slowest bounds a way of a message that is not lost: the slack of a crash.
const slowest = 200 * time.Millisecond

func (s *holdRun) play() {
	over := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 6 {
		l := s.Process(fmt.Sprint("p", i), holdfast.Options{TTL: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)}, 1)
		for range 2 {
			callers.Go(func() { s.call(l, over) })
		}
		if i > 2 { // these die, one after the other
			time.AfterFunc(time.Duration(i)*40*time.Second+time.Duration(s.chance(10000))*time.Millisecond, l.Kill)
		}
	}
	s.SetNetwork(func(sim.Step) sim.Fate {
		f := sim.Fate{
			Out:  time.Duration(s.chance(int(slowest))),
			Back: time.Duration(s.chance(int(slowest))),
		}
		switch s.chance(40) {
		case 0:
			f.LoseOut = true
		case 1:
			f.LoseBack = true
		case 2:
			f.Twice = true
		case 3:
			f.Again = time.Duration(s.chance(int(20 * time.Second)))
		}
		return f
	})
	time.Sleep(5 * time.Minute)
	close(over)
	callers.Wait()
}

// call takes the name again and again.
func (s *holdRun) call(l *sim.Link, over <-chan struct{}) {
	ctx, cancel := contextUntil(over)
	defer cancel()
	for ctx.Err() == nil && !l.Dead() {
		mutex := l.Client.Mutex("n")
		if s.chance(3) > 0 {
			mutex.MinHold = 8 * time.Second
		}
		lease, err := mutex.Lock(ctx)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if l.Dead() {
			return
		}
		s.begins(l, mutex.MinHold)
		time.Sleep(time.Duration(s.chance(3000)) * time.Millisecond)
		_ = lease.Release()
	}
}

func (s *holdRun) begins(l *sim.Link, least time.Duration) {
	s.mu.Lock()
	early := time.Until(s.free)
	s.turns++
	s.free = time.Now().Add(least)
	s.mu.Unlock()
	if early > 2*slowest {
		s.Watch.Broken("%s begins %v too early", l.Owner, early)
	}
}

// contextUntil ends with a channel.
func contextUntil(over <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
