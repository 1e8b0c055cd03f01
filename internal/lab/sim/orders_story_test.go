package sim_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

// The stories of TestStories keep the promises also when holders are revoked and
// stolen from, and export their leases to one another. The flags are the
// same; it plays a quarter as many.
func TestOrderStories(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if *seed >= 0 {
		orderStory(t, uint64(*seed), true)
		return
	}
	for n := *first; n < *first+*seeds/4 && !t.Failed(); n++ {
		orderStory(t, n, false)
	}
}

func orderStory(t *testing.T, seed uint64, tell bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := sim.NewStory(seed)
		s.Order()
		broken := s.Run()
		s.Close()
		if tell || len(broken) > 0 {
			t.Log(s.History(map[bool]int{true: 5000, false: 60}[tell]))
		}
		for _, b := range broken[:min(len(broken), 8)] {
			t.Error(b)
		}
		if len(broken) > 0 {
			t.Errorf("story %d; to see it again, without -race: go test -run TestOrderStories ./internal/lab/sim -args -sim.seed %d", seed, seed)
		}
	})
}
