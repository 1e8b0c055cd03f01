package sim_test

import (
	"flag"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

var (
	seeds = flag.Uint64("sim.seeds", someSeeds, "how many stories to run")
	first = flag.Uint64("sim.first", 0, "the first of them")
	seed  = flag.Int64("sim.seed", -1, "run only this story, and print its history")
)

// Every story keeps the promises S1, S2, S3, L1 and L2. One thread runs them, so
// that a seed repeats its story to the letter.
func TestStories(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if *seed >= 0 {
		story(t, uint64(*seed), true)
		return
	}
	for n := *first; n < *first+*seeds && !t.Failed(); n++ {
		story(t, n, false)
	}
}

func story(t *testing.T, seed uint64, tell bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := sim.NewStory(seed)
		broken := s.Run()
		s.Close()
		if tell {
			t.Log(s.History(5000))
		}
		if len(broken) == 0 {
			return
		}
		if !tell {
			t.Log(s.History(60))
		}
		for _, b := range broken[:min(len(broken), 8)] {
			t.Error(b)
		}
		t.Errorf("story %d; to see it again, without -race: go test -run TestStories ./internal/lab/sim -args -sim.seed %d", seed, seed)
	})
}
