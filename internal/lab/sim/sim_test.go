package sim_test

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

var (
	seeds = flag.Uint64("sim.seeds", 2000, "how many stories to run")
	seed  = flag.Int64("sim.seed", -1, "run only this story, and print its history")
)

// Every story keeps the promises S1, S2, S3, L1 and L2.
func TestStories(t *testing.T) {
	if *seed >= 0 {
		story(t, uint64(*seed), true)
		return
	}
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint("shard", shard), func(t *testing.T) {
			t.Parallel()
			for n := range *seeds {
				if n/uint64(sim.Kinds)%shards == shard && !t.Failed() {
					story(t, n, false)
				}
			}
		})
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
		t.Errorf("replay: go test -run TestStories ./internal/lab/sim -args -sim.seed %d", seed)
	})
}
