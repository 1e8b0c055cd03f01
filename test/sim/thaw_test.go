package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// Ten callers of a process stand in front when it is frozen. A caller of another process gets
// its turn meanwhile, and one of a third process comes last. When the frozen process goes on,
// its callers poll, because that is overdue, and then read that their places were lost. They
// get them back. That is no reason to subscribe again: if the name became free while they have
// no subscription, the last would come before them.
func TestThawedComeBeforeTheLast(t *testing.T) {
	for kind, wait := range kinds {
		if kind == "mutex" {
			continue // a process has one place in it
		}
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(8) {
				play(t, func(t *testing.T, s stage) { thaw(t, s, wait, seed) })
			}
		})
	}
}

func thaw(t *testing.T, s stage, wait func(s stage, l *sim.Link, n int) <-chan hold, seed uint64) {
	const n, ttl, asleep = 10, 15 * time.Second, 2700 * time.Millisecond
	r := rand.New(rand.NewPCG(seed, 0))
	some := func(most time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(most))) }
	var links [4]*sim.Link
	for i := range links {
		links[i] = s.process(fmt.Sprint("p", i), ttl)
	}
	var goesOn time.Time // when p1 does; zero: it is not frozen. Protected by the World's mutex, as r is.
	subscribes := make(chan struct{}, 1)
	s.SetNetwork(func(step sim.Step) sim.Fate {
		if step.Process == 1 && step.Push { // it reads them beside the answers to its polls
			return sim.Fate{Out: max(0, time.Until(goesOn)) + some(20*time.Millisecond)}
		}
		if step.Process == 1 && step.Kind == "subscribe" && !goesOn.IsZero() {
			select {
			case subscribes <- struct{}{}:
			default:
			}
		}
		return sim.Fate{Out: some(5 * time.Millisecond), Back: some(5 * time.Millisecond)}
	})

	first := s.soon("the first", wait(s, links[0], 0), time.Second)
	var frozen []<-chan hold
	for i := range n {
		frozen = append(frozen, wait(s, links[1], i+1))
	}
	next := wait(s, links[2], n+1)
	var phase time.Duration
	s.Atomically(func() { phase = some(3 * time.Second) })
	time.Sleep(phase)
	s.Atomically(func() { goesOn = time.Now().Add(asleep) })
	go links[1].Pause(asleep)
	time.Sleep(time.Millisecond)
	first.release()
	got := s.soon("the next", next, asleep-time.Millisecond)
	last := wait(s, links[3], n+2)
	time.Sleep(time.Until(goesOn))
	_, _, queue := sim.Keys("n")
	for back := false; !back; {
		select {
		case <-subscribes:
			back = true
		case <-time.After(time.Millisecond):
			back = s.Do("ZCARD", queue) == int64(n+1)
		}
	}
	got.release()
	for i := range frozen {
		s.soon(fmt.Sprintf("seed %d: thawed %d", seed, i), frozen[i], time.Second).release()
	}
	s.soon("the last", last, time.Second).release()
}
