package sim_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

// The stories of TestStories keep the promises also when half of the calls ask for
// three names at once, each in an order of its own: no name is held twice, tokens
// rise, nobody waits for ever, nothing is left. The flags are the same; it plays a
// tenth as many.
func TestMultiStories(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if *seed >= 0 {
		multiStory(t, uint64(*seed), true)
		return
	}
	for n := *first; n < *first+*seeds/10 && !t.Failed(); n++ {
		multiStory(t, n, false)
	}
}

func multiStory(t *testing.T, seed uint64, tell bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := sim.NewStory(seed)
		s.Several()
		broken := s.Run()
		s.Close()
		if tell || len(broken) > 0 {
			t.Log(s.History(map[bool]int{true: 5000, false: 60}[tell]))
		}
		for _, b := range broken[:min(len(broken), 8)] {
			t.Error(b)
		}
		if len(broken) > 0 {
			t.Errorf("story %d; to see it again, without -race: go test -run TestMultiStories ./internal/lab/sim -args -sim.seed %d", seed, seed)
		}
	})
}
