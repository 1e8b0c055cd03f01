package sim_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

// Every story of readers, writers and permits keeps the promises, too: the
// capacity is never exceeded, tokens are unique, a loss is known, nobody is
// overtaken where nothing is lost, and nothing stays behind.
func TestSharedStories(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if *seed >= 0 {
		sharedStory(t, uint64(*seed), true)
		return
	}
	for n := *first; n < *first+*seeds/8 && !t.Failed(); n++ { // each has more to do than one of mutexes
		sharedStory(t, n, false)
	}
}

func sharedStory(t *testing.T, seed uint64, tell bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := sim.NewSharedStory(seed)
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
		t.Errorf("story %d; to see it again, without -race: go test -run TestSharedStories ./internal/lab/sim -args -sim.seed %d", seed, seed)
	})
}
