package sim_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

var rounds = flag.Uint64("sim.rounds", 2, "how many rounds of many waiters to play of each kind; from 6 on, other long scenes are longer, too")

// long is whether to play long scenes in full, as make test does.
func long() bool { return *rounds >= 6 }

// A free name is idle for no longer than L1 says and nobody is overtaken, however many wait
// for it, in processes of which some die, freeze or come later, and when the queue is lost.
func TestManyWaiters(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	oneThread(t)
	for _, want := range sim.AllWanted {
		t.Run(string(want), func(t *testing.T) {
			for seed := range *rounds {
				playManyWaiters(t, func() *sim.ManyWaiters { return sim.NewManyWaiters(seed, want) })
			}
		})
	}
}

// So it is with 50 and 200 Clients that wait in five processes, of which four die.
func TestManyWaitersOfTheDead(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	oneThread(t)
	for _, clients := range []int{10, 40} {
		t.Run(fmt.Sprint(5*clients), func(t *testing.T) {
			playManyWaiters(t, func() *sim.ManyWaiters {
				c := sim.NewManyWaiters(1, sim.WantMutex)
				c.TTL, c.Processes, c.Clients, c.Callers, c.Dies, c.Freezes, c.Flush = 2*time.Second, 5, clients, 1, 4, 0, false
				return c
			})
		})
	}
}

// And with 60 that wait while the server loses all it has.
func TestManyWaitersAfterALoss(t *testing.T) {
	oneThread(t)
	playManyWaiters(t, func() *sim.ManyWaiters {
		c := sim.NewManyWaiters(1, sim.WantMutex)
		c.TTL, c.Processes, c.Clients, c.Callers, c.Dies, c.Freezes, c.Flush = 2*time.Second, 6, 10, 1, 0, 0, true
		c.Work, c.Rest, c.Runs, c.Late = time.Millisecond, time.Hour, 2*time.Minute, 0
		return c
	})
}

// And with ten waiters in a process that is frozen.
func TestManyWaitersBesideTheFrozen(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	oneThread(t)
	for _, want := range sim.AllWanted {
		t.Run(string(want), func(t *testing.T) {
			playManyWaiters(t, func() *sim.ManyWaiters {
				c := sim.NewManyWaiters(1, want)
				c.TTL, c.Processes, c.Clients, c.Callers, c.Dies, c.Freezes, c.Flush = 2*time.Second, 2, 1, 10, 0, 1, false
				c.Frozen, c.Runs = 30*time.Second, 30*time.Second
				return c
			})
		})
	}
}

// The checkers see what is wrong: requests that take seconds leave a free name idle, and a
// process whose requests take so long is overtaken.
func TestManyWaitersControl(t *testing.T) {
	oneThread(t)
	for what, tamper := range map[string]func(step sim.Step, f *sim.Fate){
		" is idle from ": func(step sim.Step, f *sim.Fate) {
			if step.Kind == "unlock" || step.Push {
				f.Out = 3 * time.Second
			}
		},
		" was overtaken ": func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" && step.Process%2 == 0 {
				f.Out = 400 * time.Millisecond
			}
		},
	} {
		_, broken := runManyWaiters(t, func() *sim.ManyWaiters {
			c := sim.NewManyWaiters(1, sim.WantMutex)
			c.TTL, c.Processes, c.Clients, c.Callers, c.Dies, c.Freezes, c.Flush = 10*time.Second, 3, 3, 1, 0, 0, false
			c.Rest, c.Tamper = 500*time.Millisecond, tamper
			return c
		})
		if !slices.ContainsFunc(broken, func(b string) bool { return strings.Contains(b, what) }) {
			t.Errorf("got %d violations, want one that says %q", len(broken), what)
		}
	}
}

func playManyWaiters(t *testing.T, draw func() *sim.ManyWaiters) {
	t.Helper()
	text, broken := runManyWaiters(t, draw)
	t.Log(text)
	for _, b := range broken[:min(3, len(broken))] {
		t.Errorf("%s: %s", text, b)
	}
}

func runManyWaiters(t *testing.T, draw func() *sim.ManyWaiters) (text string, broken []string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		c := draw()
		idle := c.Run()
		c.Close()
		broken = c.Watch.Violations()
		text = fmt.Sprintf("%s: ttl %v, %d processes of %d Clients of %d callers, %d die, %d freeze for %v, flush %v: idle for %v at most",
			c.Want, c.TTL, c.Processes, c.Clients, c.Callers, c.Dies, c.Freezes, c.Frozen, c.Flush, idle)
	})
	return text, broken
}
